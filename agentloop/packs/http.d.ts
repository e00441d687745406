/** require("http"): fetch by method; an object as body is sent as JSON. */
declare module "http" {
  function get(url: string, options?: FetchOptions): FetchResponse;
  function head(url: string, options?: FetchOptions): FetchResponse;
  function post(url: string, body?: string | object, options?: FetchOptions): FetchResponse;
  function put(url: string, body?: string | object, options?: FetchOptions): FetchResponse;
  function patch(url: string, body?: string | object, options?: FetchOptions): FetchResponse;
  function del(url: string, options?: FetchOptions): FetchResponse;
}
