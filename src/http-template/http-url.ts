/** Parses the `url` of an endpoint: an absolute `http:` or `https:` URL. Returns the problem if it is not one. */
export function parseHttpUrl(url: unknown): URL | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "url must be a string or a URL";
  if (!URL.canParse(String(url))) return "url must be an absolute URL";
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return "url must be http: or https:";
  // Credentials would be sent with every request, and shown wherever the URL is.
  if (parsed.username !== "" || parsed.password !== "") return "url must not contain credentials";
  return parsed;
}
