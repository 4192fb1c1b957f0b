import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { logIn, loginProblem } from "../api/session.ts";
import { Problem } from "../parts/problem.tsx";

/** Asks for a token. */
export function Login(): JSX.Element {
  return (
    <main class="login">
      <h1>Sandgate console</h1>
      <LoginForm />
    </main>
  );
}

/** Asks for a token once more, above the view that the person will go on with. */
export function LoginAgain(): JSX.Element {
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
