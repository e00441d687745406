// Text as the model may read it: one line, nothing invisible, bounded.

// Zero-width, bidi and tag characters, soft hyphens, and the private-use ones that icon fonts draw with.
const INVISIBLE = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ue000-\uf8ff]|[\u{e0000}-\u{e0fff}]/gu;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const clean = (text) =>
  text ? String(text).replace(INVISIBLE, "").replace(CONTROL, " ").replace(/\s+/g, " ").trim() : "";

// Cut on a code point, never inside a surrogate pair.
const cut = (text, length) => {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text[length - 2]) ? length - 2 : length - 1;
  return text.slice(0, end) + "…";
};

const hasWords = (text) => /\S/.test(text);
const foldDigits = (text) => text.replace(/\d+/g, "#");
const foldCase = (text) => clean(text).toLowerCase();
