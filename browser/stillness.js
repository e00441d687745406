// Resolves once the page has been quiet: two frames passed and no node came or went for `quiet` ms, at most `cap` ms.
// Gives the address, a token that changes with the document and a sum that changes with its text.
async ({ quiet, cap }) => {
  const began = performance.now();
  let last = began - quiet;
  const observer = new MutationObserver(() => {
    last = performance.now();
  });
  observer.observe(document, { childList: true, subtree: true });
  // A page in the background gets no frames, so a timer runs against them.
  const frame = () =>
    new Promise((next) => {
      requestAnimationFrame(next);
      setTimeout(next, 60);
    });
  await frame();
  await frame();
  while (performance.now() - last < quiet && performance.now() - began < cap) await frame();
  observer.disconnect();
  const text = bodyOf(document) ? innerTextOf(bodyOf(document)) : "";
  let sum = all(document, "*").length;
  for (let index = 0; index < text.length; index += 1) sum = (sum * 31 + text.charCodeAt(index)) | 0;
  return { url: location.href, document: String(performance.timeOrigin), content: sum };
}
