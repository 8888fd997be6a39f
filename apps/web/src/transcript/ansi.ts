/** A piece of terminal output with a single style; classes are in styles/transcript.css. */
export interface AnsiPiece {
  text: string;
  classes: string;
}

/** CSI, OSC (with its end), other two-character escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const ESCAPE = /\u001b(?:\[([0-9;:?<=>!]*)[ -/]*([@-~])|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
/** Longer output is shown without colours. */
const MAX_COLOURED_LENGTH = 200_000;

interface Look {
  foreground: string;
  background: string;
  styles: Set<string>;
}

const STYLES: Readonly<Record<number, string>> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
};
const ENDS: Readonly<Record<number, readonly string[]>> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
};

/** Splits terminal output into pieces. Colours and styles become classes, all other escape sequences are removed. */
export function parseAnsi(text: string): AnsiPiece[] {
  if (!text.includes('\u001b')) return [{ text, classes: '' }];
  if (text.length > MAX_COLOURED_LENGTH) return [{ text: text.replace(ESCAPE, ''), classes: '' }];
  const look: Look = { foreground: '', background: '', styles: new Set() };
  const pieces: AnsiPiece[] = [];
  let end = 0;
  const push = (piece: string): void => {
    if (piece === '') return;
    const classes = [...look.styles, look.foreground, look.background].filter(Boolean).map((name) => `ansi-${name}`);
    pieces.push({ text: piece, classes: classes.join(' ') });
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] === 'm') applyCodes(look, match[1] ?? '');
  }
  push(text.slice(end));
  return pieces;
}

function applyCodes(look: Look, list: string): void {
  const codes = list.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) {
      look.foreground = look.background = '';
      look.styles.clear();
    } else if (STYLES[code] !== undefined) look.styles.add(STYLES[code]);
    else if (ENDS[code] !== undefined) for (const style of ENDS[code]) look.styles.delete(style);
    else if (code === 39) look.foreground = '';
    else if (code === 49) look.background = '';
    else if (code === 38 || code === 48) {
      const [colour, used] = toIndexedColour(codes.slice(index + 1));
      index += used;
      if (code === 38) look.foreground = colour;
      else look.background = colour && `on-${colour}`;
    } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) look.foreground = `c${code % 10}`;
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) look.background = `on-c${code % 10}`;
  }
}

/** For 256 or true colours, the nearest of the eight that have classes; and how many codes it used. */
function toIndexedColour([mode, ...rest]: number[]): [colour: string, used: number] {
  if (mode === 5) {
    const index = rest[0] ?? 0;
    if (index < 16) return [`c${index % 8}`, 2];
    if (index >= 232) return [index < 244 ? 'c0' : 'c7', 2];
    const cube = index - 16;
    return [toNearest(Math.floor(cube / 36) / 5, (Math.floor(cube / 6) % 6) / 5, (cube % 6) / 5), 2];
  }
  if (mode === 2) return [toNearest(...(rest.slice(0, 3).map((value) => value / 255) as [number, number, number])), 4];
  return ['', 1];
}

function toNearest(red = 0, green = 0, blue = 0): string {
  const half = Math.max(red, green, blue) / 2;
  return `c${(red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0)}`;
}
