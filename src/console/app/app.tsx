import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { listen } from "../api/events.ts";
import { isSignedIn } from "../api/http.ts";
import { viewer } from "../api/session.ts";
import { ChangesView } from "../changes/changes-view.tsx";
import { HistoryView } from "../history/history-view.tsx";
import { loadCalls, takeCalls } from "../live/calls.ts";
import { LiveView } from "../live/live-view.tsx";
import { useKeys } from "../page/keys.ts";
import { go, hashOf, route, TITLES, VIEWS } from "../page/route.ts";
import { SessionsView } from "../sessions/sessions-view.tsx";
import { ToolsView } from "../tools/tools-view.tsx";
import { Announcer } from "../waiting/announcer.tsx";
import { openCount, refreshInquiries } from "../waiting/inquiries.ts";
import { WaitingView } from "../waiting/waiting-view.tsx";
import { Header } from "./header.tsx";
import { Help, isHelpOpen } from "./help.tsx";
import { Login, LoginAgain } from "./login.tsx";

const COMPONENTS = {
  live: LiveView,
  waiting: WaitingView,
  history: HistoryView,
  tools: ToolsView,
  changes: ChangesView,
  sessions: SessionsView,
} as const;

const TITLE = document.title;

/** The page: the login, or a view. A view stays as it is while a person logs in again, with what they have typed. */
export function App(): JSX.Element {
  if (isSignedIn.value === undefined) return <main aria-busy="true" />;
  if (viewer.value === undefined) return <Login />;
  return (
    <>
      <Console />
      {!isSignedIn.value && <LoginAgain />}
    </>
  );
}

function Console(): JSX.Element {
  useEffect(() => {
    if (isSignedIn.value !== true) return;
    return listen({
      onCalls: takeCalls,
      onAttention: () => void refreshInquiries(),
      onGap: () => {
        void loadCalls();
        void refreshInquiries();
      },
    });
  }, [isSignedIn.value]);
  useKeys({
    ...Object.fromEntries(VIEWS.map((view, at) => [String(at + 1), () => go(view)])),
    "?": () => {
      isHelpOpen.value = true;
    },
    "/": () => document.querySelector<HTMLElement>("main input, main select")?.focus(),
  });
  useEffect(() => {
    document.title = openCount.value === 0 ? TITLE : `(${openCount.value}) ${TITLE}`;
  }, [openCount.value]);
  const View = COMPONENTS[route.value.view];
  return (
    <>
      <Header />
      <main id="main" tabIndex={-1}>
        {route.value.id !== "" && (
          <h1 class="back">
            <a href={hashOf(route.value.view)}>‹ All of {TITLES[route.value.view]}</a>
          </h1>
        )}
        <View />
      </main>
      <Announcer />
      <Help />
    </>
  );
}
