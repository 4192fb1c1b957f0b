/** The guarding process where system calls can be made: descendants that leave their parents stay below it. */
import { prctl, reapChild, succeed } from "../../landlock/child/c-library.ts";
import { killDescendants } from "../../landlock/child/descendants.ts";
import { guard } from "./guard.ts";

const PR_SET_CHILD_SUBREAPER = 36;

succeed("PR_SET_CHILD_SUBREAPER", prctl(PR_SET_CHILD_SUBREAPER, 1));
guard({ kill: killDescendants, reap });

function reap(): boolean {
  for (;;) {
    const reaped = reapChild();
    if (reaped === undefined) return false;
    if (reaped.pid === 0) return true;
  }
}
