// Number.prototype.toLocaleString with thousands separators, as en-US writes it.
(function () {
  "use strict";
  const SYMBOLS = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", CNY: "CN¥", INR: "₹", KRW: "₩", CHF: "CHF ", CAD: "CA$", AUD: "A$" };
  const NO_CENTS = ["JPY", "KRW"];

  const digits = (options, style) => {
    const cents = style === "currency" && !NO_CENTS.includes(options.currency) ? 2 : 0;
    const least = options.minimumFractionDigits ?? cents;
    const most = options.maximumFractionDigits ?? Math.max(least, style === "currency" ? cents : style === "percent" ? 0 : 3);
    return [Math.min(least, most), most];
  };

  const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

  // Rounds on the decimal text, because 1.005.toFixed(2) rounds its binary neighbour.
  const fixed = (value, most) => {
    const text = Number.isInteger(value) ? String(BigInt(value)) : String(value);
    if (text.includes("e")) return value.toFixed(Math.min(most, 100));
    const [whole, fraction = ""] = text.split(".");
    if (fraction.length <= most) return text;
    const kept = BigInt(whole + fraction.slice(0, most)) + (fraction[most] >= "5" ? 1n : 0n);
    const padded = String(kept).padStart(most + 1, "0");
    return most === 0 ? padded : padded.slice(0, -most) + "." + padded.slice(-most);
  };

  return (value, options = {}) => {
    if (options === null || typeof options !== "object") options = {};
    if (typeof value === "bigint") return (value < 0n ? "-" : "") + grouped(String(value < 0n ? -value : value));
    if (Number.isNaN(value)) return "NaN";
    const style = options.style || "decimal";
    const amount = Math.abs(style === "percent" ? value * 100 : value);
    const sign = value < 0 || Object.is(value, -0) ? "-" : "";
    const before = style === "currency" ? SYMBOLS[options.currency] ?? options.currency + " " : "";
    const after = style === "percent" ? "%" : "";
    if (amount === Infinity) return sign + before + "∞" + after;
    const [least, most] = digits(options, style);
    let [whole, fraction = ""] = fixed(amount, most).split(".");
    while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
    fraction = fraction.padEnd(least, "0");
    whole = whole.padStart(options.minimumIntegerDigits || 1, "0");
    const number = options.useGrouping === false ? whole : grouped(whole);
    return sign + before + number + (fraction === "" ? "" : "." + fraction) + after;
  };
})
