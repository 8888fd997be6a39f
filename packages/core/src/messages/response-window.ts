import { createOldestKey } from '../ids/oldest-key.ts';
import type { OpenResponse } from '../usage/open-response.ts';
import { isUniqueId, type ResponseIdentity, toResponseKey } from '../usage/response-key.ts';

/** What is open of one API response: the message that it is, and what progress lines tell of it. */
export interface WindowEntry<Message> {
  readonly groupKey: string;
  message: Message | undefined;
  progress: OpenResponse | undefined;
}

export interface ResponseWindow<Message> {
  /** Under which name the records of the response are grouped within the transcript. */
  toGroupKey(record: ResponseIdentity, lineNumber: number): string;
  get(groupKey: string): WindowEntry<Message> | undefined;
  /** Makes the entry the one seen last, and returns false where the window then had to close the oldest one. */
  keep(entry: WindowEntry<Message>): boolean;
  /** Closes the entry that was seen longest ago; false where there is none. */
  closeOldest(): boolean;
}

/**
 * API responses whose later lines are still joined to them. Lines share a response where they share a message id; of
 * ids that are too short to be unique, a differing request id tells two responses apart.
 */
export function createResponseWindow<Message extends { response: OpenResponse | undefined }>(
  { sessionId, maxOpenMessages }: { sessionId: string; maxOpenMessages: number },
  close: (entry: WindowEntry<Message>) => void,
): ResponseWindow<Message> {
  const entries = new Map<string, WindowEntry<Message>>();
  let latest: WindowEntry<Message> | undefined;

  const oldestKey = createOldestKey(entries);

  const closeOldest = (): boolean => {
    const key = oldestKey();
    const oldest = key === undefined ? undefined : entries.get(key);
    if (key === undefined || oldest === undefined) return false;
    entries.delete(key);
    close(oldest);
    return true;
  };

  return {
    toGroupKey(record, lineNumber) {
      const { messageId, requestId } = record;
      if (messageId === null) return toResponseKey(record, sessionId, lineNumber);
      if (isUniqueId(messageId) || requestId === null) return messageId;
      const open = entries.get(messageId);
      const openRequestId = (open?.message?.response ?? open?.progress)?.facts.request_id ?? requestId;
      return openRequestId === requestId ? messageId : `${messageId}/${requestId}`;
    },
    get: (groupKey) => entries.get(groupKey),
    keep(entry) {
      if (entry === latest) return true;
      latest = entry;
      entries.delete(entry.groupKey);
      entries.set(entry.groupKey, entry);
      return entries.size <= maxOpenMessages || !closeOldest();
    },
    closeOldest,
  };
}
