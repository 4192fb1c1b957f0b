/**
 * A tool behind an HTTP endpoint. Each call is one `POST` of the JSON `{ id, name, session, arguments }`; the
 * answer's body, with status 200, is the output as JSON. Redirects are not followed.
 */
export interface RemoteImplementation {
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
}
