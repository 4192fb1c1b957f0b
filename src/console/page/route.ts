import { type Signal, signal } from "@preact/signals";

/** The views, in the order of the navigation. */
export const VIEWS = ["live", "waiting", "history", "tools", "changes", "sessions"] as const;

/** The name of a view. */
export type View = (typeof VIEWS)[number];

/** What people call the views. */
export const TITLES: Readonly<Record<View, string>> = {
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
  /** What the view shows: the `ref` of a call, the id of an inquiry or of a session, a number of the journal; or `""`. */
  readonly id: string;
}

/** Where the page is, as the fragment of its address says. */
export const route: Signal<Route> = signal(read());

function read(): Route {
  const [view = "", id = ""] = location.hash.replace(/^#\/?/, "").split("/");
  let decoded = "";
  try {
    decoded = decodeURIComponent(id);
  } catch {
    // The address is not one of the page's own.
  }
  return { view: VIEWS.find((known) => known === view) ?? "live", id: decoded };
}

addEventListener("hashchange", () => {
  route.value = read();
});

/** The address of a view, as a fragment. */
export function hashOf(view: View, id = ""): string {
  return id === "" ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}

/** Goes to a view. Moving within a view adds no entry to the history of the browser. */
export function go(view: View, id = ""): void {
  const hash = hashOf(view, id);
  if (location.hash === hash) return;
  if (route.peek().view === view) history.replaceState(undefined, "", hash);
  else history.pushState(undefined, "", hash);
  route.value = read();
}
