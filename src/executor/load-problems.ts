import { RemoteProblem } from "../remote-protocol/problems.ts";

/** Seconds after which whoever was refused for the load may come again. */
const RETRY_AFTER_S = 1;

/** There is no place for one more. */
export function overloaded(): RemoteProblem {
  return new RemoteProblem("overloaded", "too many calls: come again later", RETRY_AFTER_S);
}

/** There is nobody left to take one more. */
export function draining(): RemoteProblem {
  return new RemoteProblem("draining", "the executor is about to end: call another one", RETRY_AFTER_S);
}
