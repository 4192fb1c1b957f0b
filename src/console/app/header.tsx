import type { JSX } from "preact";
import { isConnected } from "../api/events.ts";
import { hasRole, logOut, server, viewer } from "../api/session.ts";
import { hashOf, route, TITLES, VIEWS } from "../page/route.ts";
import { Foreign } from "../parts/foreign.tsx";
import { openCount } from "../waiting/inquiries.ts";
import { isHelpOpen } from "./help.tsx";

/** The navigation, and what is known of the server. */
export function Header(): JSX.Element {
  return (
    <header>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <strong>Sandgate</strong>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map((view) => (
            <li key={view}>
              <a href={hashOf(view)} {...(route.value.view === view && { "aria-current": "page" as const })}>
                {TITLES[view]}
                {view === "waiting" && openCount.value > 0 && <span class="count">{openCount}</span>}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <ServerState />
      <button
        type="button"
        aria-label="Keys"
        onClick={() => {
          isHelpOpen.value = true;
        }}
      >
        ?
      </button>
      <button type="button" onClick={logOut}>
        Log out
      </button>
    </header>
  );
}

/** Fragments are addresses of views, so the link moves the focus itself. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function ServerState(): JSX.Element {
  const { version = "", policyRevision = "", paused = false } = server.value ?? {};
  return (
    <p class="server" role="status">
      {paused && <span class="badge attention">paused</span>}
      <span class={isConnected.value ? "badge good" : "badge bad"}>
        {isConnected.value ? "connected" : "not connected"}
      </span>
      <span class="about">
        {version}
        {policyRevision !== "" && (
          <>
            {" · policy "}
            <Foreign text={policyRevision.slice(0, 12)} />
          </>
        )}
      </span>
      <span class="about">
        <Foreign text={viewer.value?.principal?.id ?? ""} />
        {!hasRole("approver", "admin") && " (read only)"}
      </span>
    </p>
  );
}
