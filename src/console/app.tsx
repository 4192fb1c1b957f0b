import { type Signal, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isSignedIn } from "./api/http.ts";
import { hasRole, isConnected, listen, logIn, loginProblem, logOut, server, viewer } from "./api/session.ts";
import { ChangesView } from "./changes-view.tsx";
import { HistoryView } from "./history-view.tsx";
import { loadCalls, takeCalls } from "./live/calls.ts";
import { LiveView } from "./live/live-view.tsx";
import { Overview } from "./overview/overview.tsx";
import { useKeys } from "./page/keys.ts";
import { go, hashOf, route, TITLES, VIEWS } from "./page/route.ts";
import { Foreign, visible } from "./parts/foreign.tsx";
import { Problem } from "./parts/loaded.tsx";
import { SessionsView } from "./sessions-view.tsx";
import { ToolsView } from "./tools-view.tsx";
import { announcement, openCount, refreshConfirmations } from "./waiting/confirmations.ts";
import { WaitingView } from "./waiting/waiting-view.tsx";

/** Whether the help is open. */
const isHelpOpen: Signal<boolean> = signal(false);

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["0 … 6", "Overview, Live, Waiting for me, History, Tools, Changes, Sessions"],
  ["j or ↓, k or ↑", "the next or the previous row"],
  ["Enter", "open the row"],
  ["/", "go to the first filter"],
  ["a", "Waiting: prepare to allow; then Enter allows, Escape does not"],
  ["d", "Waiting: prepare to deny; then Enter denies, Escape does not"],
  ["e", "Waiting: edit the arguments"],
  ["x, o", "Waiting: the exact JSON of the arguments; show what is folded"],
  ["g", "Waiting: group by tool and session"],
  ["s, S, t", "Waiting: select; select all that are listed; answer the selected ones together"],
  ["n", "Waiting, together: the next one that was not shown"],
  ["Escape", "close what is open"],
  ["?", "this help"],
];

const COMPONENTS = {
  overview: Overview,
  live: LiveView,
  waiting: WaitingView,
  history: HistoryView,
  tools: ToolsView,
  changes: ChangesView,
  sessions: SessionsView,
} as const;

const TITLE = document.title;

/** The page: the login, or a view. A view stays while a person logs in again, with what they have typed. */
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
      onAttention: () => void refreshConfirmations(),
      onGap: () => {
        void loadCalls();
        void refreshConfirmations();
      },
    });
  }, [isSignedIn.value]);
  useKeys({
    ...Object.fromEntries(VIEWS.map((view, at) => [String(at), () => go(view)])),
    "?": () => {
      isHelpOpen.value = true;
    },
    "/": () => document.querySelector<HTMLElement>("main input, main select")?.focus(),
  });
  useLayoutEffect(() => {
    // People who cannot answer begin with the overview.
    if (location.hash === "" && !hasRole("approver")) location.replace(hashOf("overview"));
  }, []);
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

/** Announces new confirmations, and how they end, to screen readers. */
function Announcer(): JSX.Element {
  return (
    <div class="announcer" role="status" aria-live="polite">
      {visible(announcement.value)}
    </div>
  );
}

/** Asks for a token. */
function Login(): JSX.Element {
  return (
    <main class="login">
      <h1>Sandgate console</h1>
      <LoginForm />
    </main>
  );
}

/** Asks for a token again, above the view, which stays. */
function LoginAgain(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="login again"
      aria-labelledby="again-title"
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id="again-title">Your login has ended</h2>
      <p>Log in again, and go on where you were.</p>
      <LoginForm />
    </dialog>
  );
}

function LoginForm(): JSX.Element {
  const token = useSignal("");
  const isBusy = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (token.value.trim() === "") return;
    isBusy.value = true;
    await logIn(token.value.trim());
    token.value = "";
    isBusy.value = false;
  };
  return (
    <>
      <p>
        Open the address that <code>sandgate console</code> prints, or paste the token of a credential that is
        an approver, a reader or an admin.
      </p>
      <form onSubmit={submit}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellcheck={false}
          value={token}
          onInput={({ currentTarget }) => {
            token.value = currentTarget.value;
          }}
        />
        <button type="submit" class="primary" disabled={isBusy}>
          Log in
        </button>
      </form>
      <Problem of={loginProblem} />
    </>
  );
}

/** The navigation, and the state of the server. */
function Header(): JSX.Element {
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
              <a
                href={hashOf(view, "", {})}
                {...(route.value.view === view && { "aria-current": "page" as const })}
              >
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

/** Lists the keys. */
function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isHelpOpen.value]);
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
