import type { ContentBlock } from '@recount/contract';
import { describeToolInput, type ToolStep, toEdits } from '@recount/contract/conversation';
import { formatCount } from '../terminal/format-values.ts';
import { cutToWidth, toSingleLine } from '../terminal/text-width.ts';
import {
  INDENT,
  MAX_TEXT_WIDTH,
  SHORT_LINES,
  type ShownLine,
  type ShowOptions,
  toPlainLine,
  wrapBlock,
} from './shown-lines.ts';

const SHORT_EDIT_LINES = 24;

/** A call with its subject, its changes, and its result. */
export function formatTool({ use, result }: ToolStep, options: ShowOptions): ShownLine[] {
  const whole = toSingleLine(describeToolInput(use.tool_input));
  const { project } = options;
  const subject = project != null && whole.startsWith(`${project}/`) ? whole.slice(project.length + 1) : whole;
  const failed = result?.is_error === true;
  const mark = failed ? '✗' : '●';
  const columns = Math.max(20, Math.min(options.width, MAX_TEXT_WIDTH) - INDENT.length);
  const text = `${mark} ${toSingleLine(use.tool_name ?? 'tool')}  ${subject}`.trimEnd();
  const heading: ShownLine = {
    text: INDENT + (options.hasWholeTools ? text : cutToWidth(text, columns)),
    ...(failed && { style: 'red' }),
  };
  const edits = use.tool_kind === 'edit' ? toEdits(use.tool_input) : [];
  const isOtherInput = options.hasWholeTools && edits.length === 0 && subject === '' && use.tool_input !== null;
  const input = isOtherInput ? wrapBlock(JSON.stringify(use.tool_input, null, 2), deepen(options)) : [];
  return [
    heading,
    ...input.map((line) => ({ text: INDENT + line, style: 'dim' as const })),
    ...formatEdits(edits, options),
    // An edit's output repeats the edit.
    ...(result === undefined || (edits.length > 0 && !failed && !options.hasWholeTools)
      ? []
      : formatResult(result, options)),
  ];
}

const deepen = (options: ShowOptions): ShowOptions => ({ ...options, width: options.width - INDENT.length });

function formatEdits(edits: ReturnType<typeof toEdits>, options: ShowOptions): ShownLine[] {
  const toLines = (text: string, sign: string): string[] =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => sign + line);
  const lines = edits.flatMap(({ before, after }) => {
    const [removed, added] = dropCommonLines(toLines(before, ''), toLines(after, ''));
    return [...removed.map((line) => `- ${line}`), ...added.map((line) => `+ ${line}`)];
  });
  const shown = options.hasWholeTools ? lines : lines.slice(0, SHORT_EDIT_LINES);
  const columns = Math.max(20, Math.min(options.width, MAX_TEXT_WIDTH) - 2 * INDENT.length);
  const hidden = lines.length - shown.length;
  return [
    ...shown.map((line): ShownLine => {
      const text =
        INDENT + INDENT + (options.hasWholeTools ? toPlainLine(line) : cutToWidth(toPlainLine(line), columns));
      return { text, style: line.startsWith('+') ? 'green' : 'red' };
    }),
    ...(hidden > 0 ? [{ text: `${INDENT}${INDENT}… ${formatCount(hidden)} more lines`, style: 'dim' as const }] : []),
  ];
}

/** Without the lines that both have in common at the beginning and end. */
function dropCommonLines(before: readonly string[], after: readonly string[]): [string[], string[]] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

export function formatResult(block: ContentBlock, options: ShowOptions): ShownLine[] {
  const text = block.result_text ?? block.content_text ?? '';
  if (text.trim() === '') return [];
  const style = block.is_error === true ? 'red' : 'dim';
  const lines = wrapBlock(text, deepen(options), SHORT_LINES);
  const cut =
    block.metadata.truncated === true && options.hasWholeTools
      ? [`${INDENT}… cut; --raw --line ${block.line_number} has the whole`]
      : [];
  return [...lines, ...cut].map((line) => ({ text: INDENT + line, style }));
}
