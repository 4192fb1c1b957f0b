import { type Signal, signal } from "@preact/signals";

/** The views, in the order of the navigation. The key of a view is its number, from 0 on. */
export const VIEWS = ["overview", "live", "waiting", "history", "tools", "changes", "sessions"] as const;

/** The name of a view. */
export type View = (typeof VIEWS)[number];

/** What people call the views. */
export const TITLES: Readonly<Record<View, string>> = {
  overview: "Overview",
  live: "Live",
  waiting: "Waiting for me",
  history: "History",
  tools: "Tools",
  changes: "Changes",
  sessions: "Sessions",
};

/** Where the page is. */
export interface Route {
  readonly view: View;
  /** What the view shows: the `ref` of a call, the id of a confirmation or of a session, a number of the journal; or `""`. */
  readonly id: string;
  /** What of it the view shows, such as a filter. */
  readonly query: RouteQuery;
}

/** The query of an address. A text that is empty is absent. */
export type RouteQuery = Readonly<Record<string, string>>;

/** Where the page is, as the fragment of its address says. */
export const route: Signal<Route> = signal(read());

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", id = ""] = path.split("/");
  let decoded = "";
  try {
    decoded = decodeURIComponent(id);
  } catch {
    // The address is not one of the page's own.
  }
  return {
    view: VIEWS.find((known) => known === view) ?? "live",
    id: decoded,
    query: Object.fromEntries([...new URLSearchParams(query)].filter(([, text]) => text !== "")),
  };
}

addEventListener("hashchange", () => {
  route.value = read();
});

/** The address of a view, as a fragment. Within a view, the query stays by default. */
export function hashOf(view: View, id = "", query: RouteQuery = queryIn(view)): string {
  const path = id === "" ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
  const parameters = new URLSearchParams(Object.entries(query).filter(([, text]) => text !== ""));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

function queryIn(view: View): RouteQuery {
  const { view: current, query } = route.peek();
  return view === current ? query : {};
}

/** Goes to a view. Moving within a view adds no entry to the history of the browser. */
export function go(view: View, id = "", query: RouteQuery = queryIn(view)): void {
  const hash = hashOf(view, id, query);
  if (location.hash === hash) return;
  if (route.peek().view === view) history.replaceState(undefined, "", hash);
  else history.pushState(undefined, "", hash);
  route.value = read();
}
