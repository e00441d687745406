//# always
click("name", 9)  // button, link, tab, menu item, checkbox, radio
type("name", 9, "text")  // text field: replaces what it holds; {submit: true} as 4th presses Enter
select("name", 9, "option")  // combobox, listbox
press("Enter")  // a key of the keyboard: Tab, Escape, ArrowDown, Control+a
//# Pointer
hover("name", 9)  // opens a menu that shows under the mouse
drag("name", 9, "other", 5)
//# always
scroll(600)  // pixels down
goto(url)
back()
waitText("text")  // until it stands on the page
browser.text("css")  // the text of an element, however long
