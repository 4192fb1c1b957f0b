/** Returns a function that sends JSON to a server with a token, and returns its JSON. */
export function requestJson(
  url: string,
  token: string,
): <Body>(method: string, path: string, body?: object) => Promise<Body> {
  return async <Body>(method: string, path: string, body?: object): Promise<Body> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) return (await response.json()) as Body;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
}
