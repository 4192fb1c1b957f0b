import type { JSX } from "preact";
import { server } from "../api/session.ts";
import { count } from "../parts/format.ts";

/** Says how calls come here, as long as there are none. */
export function FirstSteps(): JSX.Element {
  return (
    <section class="first-steps" aria-labelledby="first-steps-title">
      <h2 id="first-steps-title">No calls yet</h2>
      <p>
        The server has {count(server.value?.tools ?? 0, "tool")}. A call appears here as soon as it begins.
      </p>
      <dl>
        <dt>
          <code>sandgate console message.json</code>
        </dt>
        <dd>
          opens the console, and makes the calls of an assistant message: <code>sandgate init</code> writes
          one
        </dd>
        <dt>
          <code>sandgate console --example</code>
        </dt>
        <dd>has calls to look at: one that ran, one that was denied, and one that waits for you</dd>
        <dt>
          <code>POST /v1/sessions</code>
        </dt>
        <dd>
          opens a session for an agent, with the token of a caller: see <code>docs/sessions.md</code>
        </dd>
      </dl>
    </section>
  );
}
