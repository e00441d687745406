/** require("http"): fetch by method. */
declare module "http" {
  function get(url: string, options?: FetchOptions): FetchResponse;
  function head(url: string, options?: FetchOptions): FetchResponse;
  function post(url: string, body?: any, options?: FetchOptions): FetchResponse;
  function put(url: string, body?: any, options?: FetchOptions): FetchResponse;
  function patch(url: string, body?: any, options?: FetchOptions): FetchResponse;
  function del(url: string, options?: FetchOptions): FetchResponse;
}
