/** stdout or stderr. Output to a terminal cannot control it; any other output is unchanged. */
export interface CliOutput extends NodeJS.WriteStream {
  /** Like `write`, but keeps colours and weights (`ESC [ … m`), for lines that recount styles itself. */
  writeStyled(text: string): boolean;
  /** Writes what a terminal should act onsuch as recount's own cursor movements, and another program's stderr. */
  writeUnguarded(data: string | Uint8Array): boolean;
}

/**
 * Control characters other than line feed and tab, and bidirectional ones. With them a text could move the cursor, set
 * the title or the clipboard, or display as another text.
 */
const STEERING = /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu;
const ESCAPE = '\u001B';
const STYLE = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`, 'u');

/**
 * The text with every character that would control a terminal as `\u001b`, which in JSON means the same as the
 * character.
 */
export function toTerminalText(text: string): string {
  return text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Makes a stream a CliOutput. If it is a terminal, `toTerminalText` is applied in its `write`, so that everything
 * written to it is guarded.
 */
export function guardTerminal(stream: NodeJS.WriteStream): CliOutput {
  const write = stream.write.bind(stream) as (data: string | Uint8Array, ...rest: unknown[]) => boolean;
  if (!stream.isTTY) return Object.assign(stream, { writeStyled: write, writeUnguarded: write });
  const decoder = new TextDecoder();
  let heldBack = '';
  /** A carriage return waits until it certainly does not end a line. */
  const show = (data: string | Uint8Array): string => {
    const text =
      heldBack + (typeof data === 'string' ? decoder.decode() + data : decoder.decode(data, { stream: true }));
    heldBack = text.endsWith('\r') ? '\r' : '';
    return toTerminalText(text.slice(0, text.length - heldBack.length).replaceAll('\r\n', '\n'));
  };
  return Object.assign(stream, {
    write: (data: string | Uint8Array, ...rest: unknown[]) => write(show(data), ...rest),
    writeStyled: (text: string) =>
      write(
        text
          .split(STYLE)
          .map((part, index) => (index % 2 === 1 ? part : show(part)))
          .join(''),
      ),
    writeUnguarded: write,
  }) as CliOutput;
}
