/** Shortest id that is taken to be unique in the world: `msg_` and 24 characters, UUIDs, ULIDs…; not `msg_1`. */
const MIN_UNIQUE_ID_LENGTH = 20;

/** The fields of a record by which its API response is told from all others. */
export interface ResponseIdentity {
  responseId: string | null;
  requestId: string | null;
  uuid: string | null;
}

/** Whether no other response or tool use of any session is likely to have the same id. */
export function isUniqueId(id: string): boolean {
  return id.length >= MIN_UNIQUE_ID_LENGTH;
}

/**
 * The name that an API response has in every copy of its record. It depends on the one record alone, so that no order
 * of arrival matters: `<message id>`, a short one joined by the request's id or the line's uuid; without a message id
 * `uuid:<uuid>`; without anything `line:<session id>:<line number>`, which no copy shares.
 */
export function toResponseKey(
  { responseId, requestId, uuid }: ResponseIdentity,
  sessionId: string,
  lineNumber: number,
): string {
  if (responseId !== null) {
    if (isUniqueId(responseId)) return responseId;
    return `${responseId}/${requestId ?? uuid ?? `line:${sessionId}:${lineNumber}`}`;
  }
  return uuid === null ? `line:${sessionId}:${lineNumber}` : `uuid:${uuid}`;
}

/** `position` counts the advisor's iterations of the response from 1. */
export function toAdvisorKey(responseKey: string, position: number): string {
  return `${responseKey}#advisor-${position}`;
}
