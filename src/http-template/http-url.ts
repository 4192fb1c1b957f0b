/** Parses the `url` of an endpoint: an absolute `http:` or `https:` URL. Returns the problem if it is not one. */
export function parseHttpUrl(url: unknown): URL | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "url must be a string or a URL";
  if (!URL.canParse(String(url))) return "url is no absolute URL";
  const endpoint = new URL(url);
  if (endpoint.protocol !== "http:" && endpoint.protocol !== "https:") return "url must be http: or https:";
  // They would be sent in every request, and shown wherever the URL is.
  if (endpoint.username !== "" || endpoint.password !== "") return "url must hold no credentials";
  return endpoint;
}
