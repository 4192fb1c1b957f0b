/** Returns a `fetch` that answers every request with the same stream, without a network. */
export function fetchStream(body: string): typeof fetch {
  return async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
}
