import { type Answer, answerInquiry, type Inquiry, type Resolution } from "../api/confirmations.ts";
import { ApiError, messageOf } from "../api/http.ts";
import { endOf, refreshInquiries, setResolution } from "./inquiries.ts";

/**
 * Answers an inquiry. Returns why the answer does not hold, or `""` if it does.
 *
 * @param answer Has the digest of what the person saw, so that it holds for nothing else.
 */
export async function giveAnswer(inquiry: Inquiry, answer: Answer): Promise<string> {
  try {
    setResolution(inquiry.requestId, await answerInquiry(inquiry, answer));
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) return messageOf(error);
    if (error.code === "already_answered") {
      const first = error.details as unknown as Resolution;
      setResolution(inquiry.requestId, first);
      return `Another answer was first: ${endOf(first)}.`;
    }
    if (error.status === 410 || error.status === 404 || error.code === "other_digest")
      await refreshInquiries();
    return error.code === "other_digest"
      ? "The call has changed since it was shown. Read it again before you answer."
      : error.message;
  }
}
