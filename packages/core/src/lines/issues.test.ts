import { describe, expect, it } from 'vitest';
import { parseTranscript } from '../parse/parse-transcript.ts';
import { assistantLine, toJsonl, userLine } from '../testing/transcript-lines.ts';

const toDeepJson = (levels: number) => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels));

describe('a line that is read as well as can be', () => {
  it.each([
    ['identifier_truncated', 'warning', assistantLine('m'.repeat(513), 'x')],
    [
      'nesting_too_deep',
      'warning',
      assistantLine('m', [{ type: 'tool_use', id: 't', name: 'x', input: toDeepJson(257) }]),
    ],
    ['unsupported_version', 'warning', { ...userLine('x'), version: '99.0.0' }],
    ['unknown_block_type', 'notice', userLine([{ type: 'hologram', depth: 3 }])],
  ] as const)('reports %s as a %s, and keeps its message', async (code, severity, line) => {
    const { messages, errors, warnings, notices } = await parseTranscript('s', toJsonl(line));
    expect(messages).toHaveLength(1);
    expect(errors).toEqual([]);
    const found = { warning: warnings, notice: notices }[severity];
    expect(found.map((issue) => [issue.code, issue.lineNumber])).toContainEqual([code, 1]);
  });
});

it('reports a line as late if its response began more than 2,000 messages ago, and not before', async () => {
  const listLate = async (between: number): Promise<string[]> => {
    const others = Array.from({ length: between }, (_, index) => assistantLine(`other-${index}`, 'x'));
    const { errors } = await parseTranscript('s', toJsonl(assistantLine('m', 'x'), ...others, assistantLine('m', 'y')));
    return errors.map(({ code, lineNumber }) => `${code} ${lineNumber}`);
  };
  expect(await listLate(1999)).toEqual([]);
  expect(await listLate(2000)).toEqual(['late_line 2002']);
});
