// URL and URLSearchParams after the WHATWG URL standard: parsing with a base, serialising, setters.
(function () {
  "use strict";
  const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
  const special = (protocol) => Object.prototype.hasOwnProperty.call(PORTS, protocol);

  const utf8 = (text) => {
    const encoded = encodeURIComponent(text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd"));
    return encoded;
  };
  // Percent-encodes what `pattern` matches; everything outside ASCII always.
  const escaper = (pattern) => (text) =>
    Array.from(text, (c) => {
      if (c > "\u007e" || c < " ") return c < "\u0080" ? "%" + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0") : utf8(c);
      return pattern.test(c) ? "%" + c.charCodeAt(0).toString(16).toUpperCase() : c;
    }).join("");
  const inPath = escaper(/[ "#<>?`{}^]/);
  const inQuery = escaper(/[ "#<>]/);
  const inSpecialQuery = escaper(/[ "#<>']/);
  const inFragment = escaper(/[ "<>`]/);
  const inUser = escaper(/[ "#<>?`{}/:;=@[\\\]^|]/);
  const inOpaque = escaper(/[\u0000-\u001f]/);

  // --- hosts ---

  const adapt = (delta, points, first) => {
    delta = first ? Math.floor(delta / 700) : delta >> 1;
    delta += Math.floor(delta / points);
    let k = 0;
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
    return k + Math.floor((36 * delta) / (delta + 38));
  };
  const digit = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
  const punycode = (label) => {
    const points = Array.from(label, (c) => c.codePointAt(0));
    let out = points.filter((p) => p < 128).map((p) => String.fromCharCode(p)).join("");
    const basic = out.length;
    let handled = basic, n = 128, delta = 0, bias = 72;
    if (basic > 0) out += "-";
    while (handled < points.length) {
      const next = Math.min(...points.filter((p) => p >= n));
      delta += (next - n) * (handled + 1);
      n = next;
      for (const p of points) {
        if (p < n) delta++;
        if (p !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          out += digit(t + ((q - t) % (36 - t)));
          q = Math.floor((q - t) / (36 - t));
        }
        out += digit(q);
        bias = adapt(delta, handled + 1, handled === basic);
        delta = 0;
        handled++;
      }
      delta++;
      n++;
    }
    return "xn--" + out;
  };

  const number = (part) => {
    if (/^0x[0-9a-f]*$/i.test(part)) return part.length === 2 ? 0 : parseInt(part, 16);
    if (/^0[0-7]+$/.test(part)) return parseInt(part, 8);
    return /^[0-9]+$/.test(part) ? parseInt(part, 10) : NaN;
  };
  const ipv4 = (host) => {
    const parts = host.replace(/\.$/, "").split(".");
    if (Number.isNaN(number(parts[parts.length - 1])) && !/^[0-9]+$/.test(parts[parts.length - 1])) return host;
    const numbers = parts.map(number);
    const last = numbers.pop();
    if (numbers.length > 3 || Number.isNaN(last) || numbers.some((n) => !(n <= 255)) || last >= 256 ** (4 - numbers.length)) return null;
    const whole = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
    return [24, 16, 8, 0].map((shift) => Math.floor(whole / 2 ** shift) % 256).join(".");
  };

  const ipv6 = (text) => {
    const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
    if (dotted) {
      const [a, b, c, d] = dotted.slice(2).map(Number);
      if ([a, b, c, d].some((n) => n > 255)) return null;
      text = dotted[1] + ((a << 8) | b).toString(16) + ":" + ((c << 8) | d).toString(16);
    }
    const halves = text.split("::");
    if (halves.length > 2) return null;
    const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
    const given = groups[0].length + (groups[1] || []).length;
    if (halves.length === 1 ? given !== 8 : given > 7) return null;
    const all = halves.length === 1 ? groups[0] : [...groups[0], ...new Array(8 - given).fill("0"), ...groups[1]];
    if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
    const short = all.map((group) => parseInt(group, 16).toString(16));
    let best = [0, 0];
    for (let i = 0; i < 8; i++) {
      let j = i;
      while (j < 8 && short[j] === "0") j++;
      if (j - i > Math.max(1, best[1])) best = [i, j - i];
    }
    if (best[1] === 0) return "[" + short.join(":") + "]";
    return "[" + short.slice(0, best[0]).join(":") + "::" + short.slice(best[0] + best[1]).join(":") + "]";
  };

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch (_) {
      return text;
    }
  };
  const hostname = (text, isSpecial) => {
    if (text[0] === "[") return text.endsWith("]") ? ipv6(text.slice(1, -1)) : null;
    if (!isSpecial) return /[\u0000 #/<>?@[\\\]^|]/.test(text) ? null : inOpaque(text);
    const ascii = decoded(text).normalize("NFKC").toLowerCase().replace(/[\u3002\uff0e\uff61]/g, ".").replace(/[\u00ad\u200b]/g, "")
      .split(".").map((label) => (/[^\u0000-\u007f]/.test(label) ? punycode(label) : label)).join(".");
    if (ascii === "" || /[\u0000-\u0020"#%/:<>?@[\\\]^`{|}\u007f]/.test(ascii)) return null;
    return ipv4(ascii);
  };

  // --- parsing ---

  const blank = (protocol) => ({ protocol, username: "", password: "", hostname: null, port: "", path: [], opaque: null, search: "", hash: "" });

  const authority = (url, text) => {
    const at = text.lastIndexOf("@");
    if (at >= 0) {
      const [user, ...rest] = text.slice(0, at).split(":");
      url.username = inUser(user);
      url.password = inUser(rest.join(":"));
    }
    const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text.slice(at + 1));
    if (!match) return false;
    url.hostname = hostname(match[1], special(url.protocol));
    if (url.hostname === null && !(match[1] === "" && !special(url.protocol))) return false;
    if (url.hostname === null) url.hostname = "";
    return port(url, match[2] || "");
  };
  const port = (url, text) => {
    if (!/^[0-9]*$/.test(text) || Number(text) > 65535) return false;
    url.port = text === "" || String(Number(text)) === PORTS[url.protocol] ? "" : String(Number(text));
    return true;
  };

  const segments = (start, text, isSpecial) => {
    const path = [...start];
    const parts = text.split(isSpecial ? /[/\\]/ : "/");
    parts.forEach((part, i) => {
      const last = i === parts.length - 1;
      if (/^(\.|%2e)(\.|%2e)$/i.test(part)) {
        path.pop();
        if (last) path.push("");
      } else if (/^(\.|%2e)$/i.test(part)) {
        if (last) path.push("");
      } else path.push(inPath(part));
    });
    return path;
  };

  const query = (url, text) => (text === undefined || text === "" ? "" : "?" + (special(url.protocol) ? inSpecialQuery : inQuery)(text));
  const parse = (input, base) => {
    const text = input.replace(/^[\u0000-\u0020]+|[\u0000-\u0020]+$/g, "").replace(/[\t\n\r]/g, "");
    const [, beforeHash, , fragment] = /^([^#]*)(#(.*))?$/s.exec(text);
    const [, main, , queryText] = /^([^?]*)(\?(.*))?$/s.exec(beforeHash);
    const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(main);
    let url, rest = main;
    if (scheme && !(base && special(base.protocol) && scheme[1].toLowerCase() + ":" === base.protocol && !/^[/\\]/.test(scheme[2]))) {
      url = blank(scheme[1].toLowerCase() + ":");
      rest = scheme[2];
      if (!absolute(url, rest)) return null;
    } else {
      if (!base) return null;
      url = relative(scheme ? scheme[2] : rest, base, queryText);
      if (url === null) return null;
    }
    if (queryText !== undefined) url.search = query(url, queryText);
    url.hash = fragment === undefined || fragment === "" ? "" : "#" + inFragment(fragment);
    return url;
  };

  const absolute = (url, rest) => {
    const isSpecial = special(url.protocol);
    if (!isSpecial && rest[0] !== "/") {
      url.opaque = inOpaque(rest);
      return true;
    }
    if (url.protocol === "file:") {
      const match = /^[/\\]{2}([^/\\]*)(.*)$/s.exec(rest);
      url.hostname = match && match[1] !== "" && match[1].toLowerCase() !== "localhost" ? hostname(match[1], true) : "";
      url.path = segments([], (match ? match[2] : rest).replace(/^[/\\]/, ""), true);
      return url.hostname !== null;
    }
    const match = (isSpecial ? /^[/\\]*([^/\\]*)(.*)$/s : /^\/\/([^/]*)(.*)$/s).exec(rest);
    if (!match) {
      url.path = segments([], rest.slice(1), false);
      return true;
    }
    if (!authority(url, match[1])) return false;
    url.path = match[2] === "" ? (isSpecial ? [""] : []) : segments([], match[2].slice(1), isSpecial);
    return true;
  };

  const relative = (text, base, queryText) => {
    if (base.opaque !== null) return text === "" && queryText === undefined ? { ...base } : null;
    const isSpecial = special(base.protocol);
    const slash = (c) => c === "/" || (isSpecial && c === "\\");
    if (slash(text[0]) && slash(text[1])) {
      const url = blank(base.protocol);
      return absolute(url, text) ? url : null;
    }
    const url = { ...base, path: [...base.path], search: "" };
    if (text === "") url.search = queryText === undefined ? base.search : "";
    else if (slash(text[0])) url.path = segments([], text.slice(1), isSpecial);
    else url.path = segments(base.path.slice(0, -1), text, isSpecial);
    return url;
  };

  // --- URLSearchParams ---

  const formEncode = (text) => utf8(String(text)).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
  const formDecode = (text) => {
    const spaced = text.replace(/\+/g, " ");
    return spaced.includes("%") ? spaced.replace(/(%[0-9a-f]{2})+/gi, decoded) : spaced;
  };
  const pairs = (init) => {
    if (init === undefined || init === null) return [];
    if (init instanceof URLSearchParams) return [...init];
    if (typeof init === "object") {
      const list = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      return list.map(([name, value]) => [String(name), String(value)]);
    }
    return String(init).replace(/^\?/, "").split("&").filter((part) => part !== "").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [formDecode(part), ""] : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))];
    });
  };

  class URLSearchParams {
    #list;
    #changed = () => {};
    constructor(init, changed) {
      this.#list = pairs(init);
      if (typeof changed === "function") this.#changed = changed;
    }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) {
      this.#list = this.#list.filter((pair) => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)));
      this.#changed();
    }
    get(name) {
      const pair = this.#list.find((one) => one[0] === String(name));
      return pair ? pair[1] : null;
    }
    getAll(name) { return this.#list.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
    has(name, value) { return this.#list.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value))); }
    set(name, value) {
      const at = this.#list.findIndex((pair) => pair[0] === String(name));
      if (at < 0) this.#list.push([String(name), String(value)]);
      else {
        this.#list[at][1] = String(value);
        this.#list = this.#list.filter((pair, i) => i <= at || pair[0] !== String(name));
      }
      this.#changed();
    }
    sort() {
      this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#changed();
    }
    forEach(call, self) { for (const [name, value] of this) call.call(self, value, name, this); }
    *entries() { for (const [name, value] of this.#list) yield [name, value]; }
    *keys() { for (const [name] of this.#list) yield name; }
    *values() { for (const [, value] of this.#list) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([name, value]) => formEncode(name) + "=" + formEncode(value)).join("&"); }
    toJSON() { return this.toString(); }
  }

  // --- URL ---

  class URL {
    #url;
    #params = null;
    constructor(address, base) {
      const from = base === undefined ? null : parse(String(base), null);
      const url = base !== undefined && from === null ? null : parse(String(address), from);
      if (url === null) throw new TypeError("Invalid URL: " + String(address).slice(0, 200));
      this.#url = url;
    }
    static canParse(address, base) { return URL.parse(address, base) !== null; }
    static parse(address, base) {
      try {
        return new URL(address, base);
      } catch (_) {
        return null;
      }
    }
    get href() {
      const { protocol, hostname, search, hash } = this.#url;
      const empty = hostname === null && this.#url.path.length > 1 && this.#url.path[0] === "" ? "/." : "";
      const credentials = this.username + (this.password === "" ? "" : ":" + this.password);
      return protocol + (hostname === null ? empty : "//" + (credentials === "" ? "" : credentials + "@") + this.host) + this.pathname + search + hash;
    }
    set href(value) {
      const url = parse(String(value), null);
      if (url === null) throw new TypeError("Invalid URL: " + String(value).slice(0, 200));
      this.#url = url;
      this.#params = null;
    }
    get origin() { return special(this.protocol) && this.protocol !== "file:" ? this.protocol + "//" + this.host : "null"; }
    get protocol() { return this.#url.protocol; }
    set protocol(value) {
      const match = /^([A-Za-z][A-Za-z0-9+.-]*)/.exec(String(value));
      if (!match || special(match[1].toLowerCase() + ":") !== special(this.protocol)) return;
      this.#url.protocol = match[1].toLowerCase() + ":";
      port(this.#url, this.#url.port);
    }
    get username() { return this.#url.username; }
    set username(value) { this.#url.username = inUser(String(value)); }
    get password() { return this.#url.password; }
    set password(value) { this.#url.password = inUser(String(value)); }
    get host() { return (this.#url.hostname || "") + (this.port === "" ? "" : ":" + this.port); }
    set host(value) {
      const changed = { ...this.#url };
      if (this.#url.opaque === null && authority(changed, String(value).split(/[/?#\\]/)[0])) {
        this.#url.hostname = changed.hostname;
        if (/:\d+$/.test(String(value))) this.#url.port = changed.port;
      }
    }
    get hostname() { return this.#url.hostname || ""; }
    set hostname(value) {
      const host = hostname(String(value), special(this.protocol));
      if (host !== null && this.#url.opaque === null) this.#url.hostname = host;
    }
    get port() { return this.#url.port; }
    set port(value) { port(this.#url, String(value)); }
    get pathname() {
      if (this.#url.opaque !== null) return this.#url.opaque;
      return this.#url.path.length === 0 ? "" : "/" + this.#url.path.join("/");
    }
    set pathname(value) {
      if (this.#url.opaque === null) this.#url.path = segments([], String(value).replace(/^[/\\]/, ""), special(this.protocol)).map((part) => part.replace(/#/g, "%23"));
    }
    get search() { return this.#url.search; }
    set search(value) {
      this.#url.search = query(this.#url, String(value).replace(/^\?/, ""));
      this.#params = null;
    }
    get searchParams() {
      if (this.#params === null) {
        const params = this.#params = new URLSearchParams(this.#url.search, () => {
          const text = params.toString();
          this.#url.search = text === "" ? "" : "?" + text;
        });
      }
      return this.#params;
    }
    get hash() { return this.#url.hash; }
    set hash(value) {
      const text = String(value).replace(/^#/, "");
      this.#url.hash = text === "" ? "" : "#" + inFragment(text);
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
  }

  return { URL, URLSearchParams };
})
