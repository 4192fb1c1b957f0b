/** Pauses a call's wall time while a person is asked. Returns a function that resumes it. Pauses can overlap. */
export type PauseWallTime = () => () => void;

/** A context of a host tool whose call's wall time can be stopped. Not part of the documented context of tools. */
export interface PausableContext {
  pauseWallTime(): () => void;
}

/** Returns the function that stops the wall time of the call with this context; `undefined` if it cannot be stopped. */
export function pauseOf(context: object | PausableContext): PauseWallTime | undefined {
  return "pauseWallTime" in context ? () => context.pauseWallTime() : undefined;
}

/** Returns what pauses a call together with the calls above it. */
export function pauseBoth(own: PauseWallTime, above: PauseWallTime): PauseWallTime {
  return () => {
    const resumeAbove = above();
    const resumeOwn = own();
    return () => {
      resumeOwn();
      resumeAbove();
    };
  };
}
