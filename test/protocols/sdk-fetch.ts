/** A `fetch` that answers every request of an SDK with the same stream. Nothing goes over a network. */
export function fetchStream(body: string): typeof fetch {
  return async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
}
