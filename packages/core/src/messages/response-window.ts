import { createOldestKey } from '../ids/oldest-key.ts';
import { ResumeError } from '../resume-error.ts';
import type { OpenResponse } from '../usage/open-response.ts';
import { isUniqueId, type ResponseIdentity, toResponseKey } from '../usage/response-key.ts';

/** What is open of one API response: the message that it is, and what progress lines tell of it. */
export interface WindowEntry<Message> {
  readonly groupKey: string;
  message: Message | undefined;
  progress: OpenResponse | undefined;
}

export interface ResponseWindowState<Message> {
  /** By group key, the one seen last at the end. */
  entries: Map<string, WindowEntry<Message>>;
  /** Group keys of responses that were closed though lines of theirs might follow. */
  closedKeys: Set<string>;
}

export interface ResponseWindow<Message> {
  /** Under which name the records of the response are grouped within the transcript. */
  toGroupKey(record: ResponseIdentity, lineNumber: number): string;
  get(groupKey: string): WindowEntry<Message> | undefined;
  /** Makes the entry the one seen last, and returns false where the window then had to close the oldest one. */
  keep(entry: WindowEntry<Message>): boolean;
  /** Closes the entry that was seen longest ago; false where there is none. */
  closeOldest(): boolean;
  /** Closes all but the `count` entries seen last, and remembers their keys: a line of one of them is a ResumeError. */
  keepLast(count: number): void;
}

/**
 * API responses whose later lines are still joined to them. Lines share a response where they share a message id; of
 * ids that are too short to be unique, a differing request id tells two responses apart.
 *
 * Throws ResumeError where a line belongs to a response that `keepLast` closed.
 */
export function createResponseWindow<Message extends { response: OpenResponse | undefined }>(
  { sessionId, maxOpenMessages }: { sessionId: string; maxOpenMessages: number },
  close: (entry: WindowEntry<Message>) => void,
  { entries, closedKeys }: ResponseWindowState<Message>,
): ResponseWindow<Message> {
  let latest: WindowEntry<Message> | undefined;

  const oldestKey = createOldestKey(entries);

  const closeOldest = (): string | undefined => {
    const key = oldestKey();
    const oldest = key === undefined ? undefined : entries.get(key);
    if (key === undefined || oldest === undefined) return undefined;
    entries.delete(key);
    close(oldest);
    return key;
  };

  const get = (groupKey: string): WindowEntry<Message> | undefined => {
    if (closedKeys.has(groupKey)) throw new ResumeError('A line belongs to a response from before the checkpoint');
    return entries.get(groupKey);
  };

  return {
    toGroupKey(record, lineNumber) {
      const { messageId, requestId } = record;
      if (messageId === null) return toResponseKey(record, sessionId, lineNumber);
      if (isUniqueId(messageId) || requestId === null) return messageId;
      const open = get(messageId);
      const openRequestId = (open?.message?.response ?? open?.progress)?.facts.request_id ?? requestId;
      return openRequestId === requestId ? messageId : `${messageId}/${requestId}`;
    },
    get,
    keep(entry) {
      if (entry === latest) return true;
      latest = entry;
      entries.delete(entry.groupKey);
      entries.set(entry.groupKey, entry);
      if (entries.size + closedKeys.size <= maxOpenMessages) return true;
      // All in one go, the oldest would now be closed for good, and a later line of it begin another message.
      if (closedKeys.size > 0) throw new ResumeError('More responses than are kept open');
      return closeOldest() === undefined;
    },
    closeOldest: () => closeOldest() !== undefined,
    keepLast(count) {
      while (entries.size > count) {
        const key = closeOldest();
        if (key !== undefined) closedKeys.add(key);
      }
    },
  };
}
