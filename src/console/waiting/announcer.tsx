import type { JSX } from "preact";
import { visible } from "../parts/foreign.tsx";
import { announcement } from "./inquiries.ts";

/** Tells screen readers of new inquiries, and how they end. */
export function Announcer(): JSX.Element {
  return (
    <div class="announcer" role="status" aria-live="polite">
      {visible(announcement.value)}
    </div>
  );
}
