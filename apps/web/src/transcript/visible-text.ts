/** Controls of text direction: they make a text read otherwise than it is written. */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Control characters that have no look of their own, but for tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const OTHER_CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

const toCode = (character: string): string =>
  `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** A text of a transcript so that all of it is seen: what would reorder or hide its characters is named instead. */
export const toVisible = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(DIRECTION_CONTROLS, toCode).replace(OTHER_CONTROLS, toCode);
