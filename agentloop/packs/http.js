// require("http"): a function for each method, over the one primitive that sends.
const send = (method, url, options, extra) => _http(url, { ...options, ...extra, method });

const withBody = (method) => (url, body, options) => {
  if (body === undefined || body === null) return send(method, url, options);
  if (body instanceof URLSearchParams) {
    const headers = { "content-type": "application/x-www-form-urlencoded", ...(options && options.headers) };
    return send(method, url, options, { headers, body: String(body) });
  }
  return send(method, url, options, typeof body === "string" ? { body } : { json: body });
};
const withoutBody = (method) => (url, options) => send(method, url, options);

module.exports = {
  get: withoutBody("GET"),
  head: withoutBody("HEAD"),
  post: withBody("POST"),
  put: withBody("PUT"),
  patch: withBody("PATCH"),
  del: withoutBody("DELETE"),
};
