/** Longer texts are cut, and longer inputs left out: the transcript has them. In characters. */
export const MAX_EVENT_TEXT_LENGTH = 64 * 1024;

/** Longer names, ids, and the like are cut, in events and in a stream's row. In characters. */
const MAX_NAME_LENGTH = 256;

export const cutTo = (maxLength: number, text: string): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).toWellFormed();

export const cutName = <T extends string | null>(name: T): T | string =>
  name === null ? name : cutTo(MAX_NAME_LENGTH, name);
