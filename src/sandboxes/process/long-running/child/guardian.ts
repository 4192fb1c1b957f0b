/** The guarding process where system calls can be made: descendants that leave their parents stay below it. */
import { prctl, succeed } from "../../landlock/child/c-library.ts";
import { guard } from "./guard.ts";

const PR_SET_CHILD_SUBREAPER = 36;

succeed("PR_SET_CHILD_SUBREAPER", prctl(PR_SET_CHILD_SUBREAPER, 1));
guard();
