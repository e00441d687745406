//# always
click("name", number)  // button, link, tab, checkbox, radio
type("name", number, "text")  // text field: replaces what it holds; then {submit: true} presses Enter
select("name", number, "option")  // combobox, listbox
press("Enter")  // a key of the keyboard: Tab, Escape, Control+a
//# Pointer
hover("name", number)  // shows a menu
//# always
scroll(600)  // pixels down
goto(url)
back()
waitText("text")  // until it stands there
browser.text("css")  // an element's whole text
