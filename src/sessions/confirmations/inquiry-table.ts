import type { MaybePromise } from "../../base/promises.ts";
import type { Inquiry, InquiryRecord, Resolution } from "./inquiry.ts";

/** Inquiries, open and resolved: a part of a session store. */
export interface InquiryTable {
  /** Adds an inquiry of a known session. Does nothing if the id is known. */
  addInquiry(inquiry: Inquiry): MaybePromise<void>;
  /**
   * Resolves an inquiry. The first resolution that is written wins.
   *
   * @returns the resolution that won; `undefined` if the inquiry is unknown.
   */
  resolveInquiry(id: string, resolution: Resolution): MaybePromise<Resolution | undefined>;
  /** Returns an inquiry, open or resolved; `undefined` if it is unknown. */
  inquiry(id: string): MaybePromise<InquiryRecord | undefined>;
  /**
   * Returns the open inquiries, and the resolved ones whose call has neither begun nor ended, in order. Of a nested call, whose
   * state is not known here, the resolved ones while the call of the message that it belongs to has begun, and not ended.
   */
  pendingInquiries(): MaybePromise<readonly InquiryRecord[]>;
}
