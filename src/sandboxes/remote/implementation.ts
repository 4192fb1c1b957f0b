/**
 * A tool behind an HTTP endpoint. Each call is one `POST` of the JSON `{ id, name, session, arguments }`; the
 * answer's body, with a status of 200 to 299, is the output as JSON. Redirects are not followed.
 */
export interface RemoteImplementation {
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
}

/** The URL of an endpoint, or what is wrong with it. */
export function parseEndpoint(url: unknown): URL | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "url must be a string or a URL";
  if (!URL.canParse(String(url))) return "url is no absolute URL";
  const endpoint = new URL(url);
  if (endpoint.protocol !== "http:" && endpoint.protocol !== "https:") return "url must be http: or https:";
  // They would be sent in every request, and shown wherever the URL is.
  if (endpoint.username !== "" || endpoint.password !== "") return "url must hold no credentials";
  return endpoint;
}
