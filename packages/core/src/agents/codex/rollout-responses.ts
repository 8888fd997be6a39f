import type { CodexResponse } from './rollout-usage.ts';

/** Which items belong to a response, and which response the next usage is of. */
export interface ResponseState {
  count: number;
  /** Group of the items whose usage is still to come. */
  open: string | null;
  /** Whether a tool has answered one of them: further items are of another response. */
  isAnswered: boolean;
  /** Group of items whose usage did not come. */
  abandoned: string | null;
  /** In versions that count before they write the items: the response that was counted. */
  counted: CodexResponse | null;
  countsFirst: boolean | undefined;
}

export function createResponseState(): ResponseState {
  return { count: 0, open: null, isAnswered: false, abandoned: null, counted: null, countsFirst: undefined };
}

/** The group whose usage has come; null if there is none. */
export function takeGroup(responses: ResponseState): string | null {
  const group = responses.open;
  responses.open = null;
  responses.isAnswered = false;
  return group;
}

/** No usage of the open group is expected any more. */
export function abandonGroup(responses: ResponseState): void {
  responses.abandoned = takeGroup(responses) ?? responses.abandoned;
}

/** The group of an item that the model wrote just now. */
export function joinGroup(responses: ResponseState): string {
  if (responses.open !== null && !responses.isAnswered) return responses.open;
  abandonGroup(responses);
  responses.open = String(++responses.count);
  return responses.open;
}
