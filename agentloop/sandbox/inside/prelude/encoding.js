// TextEncoder, TextDecoder (UTF-8 only), atob and btoa.
(function () {
  "use strict";
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const invalid = (message) => {
    const error = new Error(message);
    error.name = "InvalidCharacterError";
    return error;
  };

  const put = (bytes, code) => {
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  };

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") {
      const bytes = [];
      for (const character of String(text)) {
        const code = character.codePointAt(0);
        put(bytes, code >= 0xd800 && code <= 0xdfff ? 0xfffd : code);
      }
      return new Uint8Array(bytes);
    }
    encodeInto(text, target) {
      let read = 0, written = 0;
      for (const character of String(text)) {
        const bytes = this.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        read += character.length;
        written += bytes.length;
      }
      return { read, written };
    }
  }

  // The length of a sequence by its first byte, and the range its second byte must be in.
  const lead = (byte) => {
    if (byte >= 0xc2 && byte <= 0xdf) return [1, 0x80, 0xbf, byte & 31];
    if (byte === 0xe0) return [2, 0xa0, 0xbf, 0];
    if (byte === 0xed) return [2, 0x80, 0x9f, 13];
    if (byte >= 0xe1 && byte <= 0xef) return [2, 0x80, 0xbf, byte & 15];
    if (byte === 0xf0) return [3, 0x90, 0xbf, 0];
    if (byte >= 0xf1 && byte <= 0xf3) return [3, 0x80, 0xbf, byte & 7];
    if (byte === 0xf4) return [3, 0x80, 0x8f, 4];
    return null;
  };

  class TextDecoder {
    constructor(label = "utf-8", options = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError("TextDecoder knows only utf-8, not " + label);
      this.encoding = "utf-8";
      this.fatal = Boolean(options.fatal);
      this.ignoreBOM = Boolean(options.ignoreBOM);
    }
    decode(input = new Uint8Array(0)) {
      const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      const parts = [];
      let i = !this.ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
      while (i < bytes.length) {
        const byte = bytes[i++];
        if (byte < 0x80) { parts.push(String.fromCharCode(byte)); continue; }
        const start = lead(byte);
        let code = -1;
        if (start !== null) {
          let [left, low, high, value] = start;
          while (left > 0 && bytes[i] >= low && bytes[i] <= high) {
            value = (value << 6) | (bytes[i++] & 63);
            [low, high] = [0x80, 0xbf];
            left--;
          }
          if (left === 0) code = value;
        }
        if (code < 0 && this.fatal) throw new TypeError("the data is not valid utf-8");
        parts.push(code < 0 ? "\ufffd" : String.fromCodePoint(code));
      }
      return parts.join("");
    }
  }

  const btoa = (text) => {
    const binary = String(text);
    let out = "";
    for (let i = 0; i < binary.length; i += 3) {
      const [a, b, c] = [binary.charCodeAt(i), binary.charCodeAt(i + 1), binary.charCodeAt(i + 2)];
      if (a > 255 || b > 255 || c > 255) throw invalid("btoa takes characters up to U+00FF: encode text with TextEncoder first");
      const bits = (a << 16) | ((b || 0) << 8) | (c || 0);
      out += ALPHABET[bits >> 18] + ALPHABET[(bits >> 12) & 63];
      out += (i + 1 < binary.length ? ALPHABET[(bits >> 6) & 63] : "=") + (i + 2 < binary.length ? ALPHABET[bits & 63] : "=");
    }
    return out;
  };

  const atob = (text) => {
    let data = String(text).replace(/[\t\n\f\r ]/g, "");
    if (data.length % 4 === 0) data = data.replace(/==?$/, "");
    if (data.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(data)) throw invalid("atob takes base64 text");
    const out = [];
    for (let i = 0; i < data.length; i += 4) {
      let bits = 0;
      for (let j = 0; j < 4; j++) bits = (bits << 6) | (j + i < data.length ? ALPHABET.indexOf(data[i + j]) : 0);
      out.push(String.fromCharCode(bits >> 16, (bits >> 8) & 255, bits & 255).slice(0, Math.min(3, data.length - i - 1)));
    }
    return out.join("");
  };

  return { TextEncoder, TextDecoder, atob, btoa };
})
