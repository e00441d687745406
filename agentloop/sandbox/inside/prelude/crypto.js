// crypto.randomUUID and crypto.getRandomValues, from the operating system's source.
(function (kit) {
  "use strict";
  const bytes = (size) => kit.host("random", size);
  const crypto = {
    randomUUID() {
      const hex = bytes(16);
      const variant = "89ab"[parseInt(hex[16], 16) & 3];
      return [hex.slice(0, 8), hex.slice(8, 12), "4" + hex.slice(13, 16), variant + hex.slice(17, 20), hex.slice(20)].join("-");
    },
    getRandomValues(array) {
      const hex = bytes(array.byteLength);
      const view = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < view.length; i++) view[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
      return array;
    },
  };
  return { crypto };
})
