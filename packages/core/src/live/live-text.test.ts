import { describe, expect, it } from 'vitest';
import { toContentBlocks } from '../agents/anthropic-api/content-blocks.ts';
import { toToolInputSummary } from '../agents/tool-input-summary.ts';
import type { JsonValue } from '../lines/json.ts';
import { cutText, toOneLine } from '../records/fields.ts';
import { only } from '../testing/transcript-lines.ts';
import { createCheckpointRegistry } from './checkpoints.ts';
import { extractResult, isComplete } from './completion.ts';
import { createPartialTexts, createTextTail, toOutputText } from './live-text.ts';

describe('output text', () => {
  const ignore = () => {};
  const textOf = (content: JsonValue, fields = {}) =>
    toOutputText(
      only(
        toContentBlocks([{ type: 'tool_result', tool_use_id: 't', content, ...fields }], {
          maxInlineContentBytes: Number.MAX_SAFE_INTEGER,
          onNestingTooDeep: ignore,
          onIdentifierCut: ignore,
          onInvalidContent: ignore,
          onUnknownBlock: ignore,
          onTooManyBlocks: ignore,
        }),
      ),
    );

  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

  it.each<[string, JsonValue]>([
    ['plain', 'plain'],
    [
      'a\nb',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    ],
    ['{"files":2}', { files: 2 }],
    ['12.5', 12.5],
    ['false', false],
    ['[image/png, 3 bytes]', [image]],
    ['seen\n[image/png, 3 bytes]\n{"type":"other"}', [image, { type: 'text', text: 'seen' }, { type: 'other' }]],
    ['', ''],
    ['', []],
  ])('%j', (expected, content) => {
    expect(textOf(content)).toBe(expected);
  });

  it('takes the reason of a failure if there is no output', () => {
    expect(textOf('', { is_error: true, error: 'Permission denied' })).toBe('Permission denied');
    expect(textOf('some', { is_error: true, error: 'Permission denied' })).toBe('some');
  });
});

describe('live text', () => {
  describe('cutText', () => {
    it('keeps what fits, and cuts the rest to the bound', () => {
      expect(cutText('12345678', 8)).toBe('12345678');
      expect(cutText('123456789', 8)).toBe('12345...');
    });

    it('counts user-perceived characters, and splits none', () => {
      const family = '👩‍👩‍👧‍👦';
      expect(cutText(family.repeat(8), 8)).toBe(family.repeat(8));
      expect(cutText(family.repeat(9), 8)).toBe(`${family.repeat(5)}...`);
      expect(cutText('e\u0301'.repeat(9), 8)).toBe(`${'e\u0301'.repeat(5)}...`);
    });

    it('bounds stacked combining marks', () => {
      expect(cutText(`e${'\u0301'.repeat(1_000_000)}`, 8).length).toBeLessThan(8 * 32 + 4);
    });
  });

  describe('toOneLine', () => {
    it('leaves no line break and no control character', () => {
      expect(toOneLine(' a\r\nb\u2028c\u001b[31md\u0007 ')).toBe('a b c [31md');
    });
  });

  describe('toToolInputSummary', () => {
    it.each([
      ['Read', { file_path: '/a/b.ts' }, '/a/b.ts'],
      ['Write', { file_path: `/${'long/'.repeat(30)}x.ts` }, `/${'long/'.repeat(30)}x.ts`],
      ['Edit', { file_path: '/a', old_string: 'x' }, '/a'],
      ['Bash', { command: 'x'.repeat(61), description: 'd' }, `${'x'.repeat(57)}...`],
      ['Bash', { command: 'a\n  b' }, 'a   b'],
      ['Bash', { description: 'Lists files' }, 'Lists files'],
      ['Glob', { pattern: 'y'.repeat(41) }, `${'y'.repeat(37)}...`],
      ['Grep', { pattern: 'TODO' }, 'TODO'],
      ['Task', { description: 'z'.repeat(40) }, 'z'.repeat(40)],
      ['Agent', { description: 'Count' }, 'Count'],
      ['WebFetch', { url: 'https://example.org/', prompt: 'p' }, 'https://example.org/'],
      ['WebSearch', { query: 'q'.repeat(51) }, `${'q'.repeat(47)}...`],
      ['shell_command', { command: 'ls' }, 'ls'],
      ['TodoWrite', { todos: [] }, ''],
      ['Read', { file_path: 5 }, ''],
      ['Read', null, ''],
      ['constructor', { command: 'x' }, ''],
    ])('%s of %j', (name, input, expected) => {
      expect(toToolInputSummary(name, input)).toBe(expected);
    });
  });

  describe('completion', () => {
    const results =
      '{"type":"result","result":"first"}\nnoise\n{"type":"result","result":" ALL_Done "}\n{"type":"x"}\n\n';

    it('finds the last result line from the end', () => {
      expect(extractResult(results)).toBe(' ALL_Done ');
      expect(extractResult('{"type":"result","result":"a"}\n{"type":"result","is_error":true}')).toBeNull();
      expect(extractResult('\n\n')).toBeNull();
      expect(extractResult('')).toBeNull();
    });

    it('takes the last message of Codex', () => {
      const message = (text: string) =>
        JSON.stringify({ type: 'item.completed', item: { type: 'agent_message', text } });
      expect(extractResult(`${message('one')}\n${message('two')}\n{"type":"turn.completed"}`)).toBe('two');
    });

    it('takes the last response of lines that are not JSON', () => {
      expect(extractResult('a <response>one</response> b\n<response>two\nlines</response> c')).toBe('two\nlines');
      expect(extractResult('<response>never closed')).toBeNull();
      expect(extractResult('{"type":"x"}\n<response>one\n{"type":"y"}\nmore</response>')).toBe('one\nmore');
      expect(extractResult('{"type":"result","result":null}\n<response>one</response>')).toBe('one');
      expect(extractResult('{"type":"x","text":"<response>one</response>"}')).toBeNull();
    });

    it('compares ignoring case and surrounding white space', () => {
      expect(isComplete(results, 'all_done\n')).toBe(true);
      expect(isComplete(results, 'all done')).toBe(false);
      expect(isComplete('<response> DONE </response>', 'done')).toBe(true);
      expect(isComplete('done\n', 'DONE')).toBe(true);
      expect(isComplete('{"type":"system"}', 'done')).toBe(false);
    });
  });

  describe('createCheckpointRegistry', () => {
    it('keeps the newest in order, without duplicates, by session', () => {
      const registry = createCheckpointRegistry({ maxPerSession: 3 });
      for (const uuid of ['a', 'b', 'a', 'c', 'd']) registry.addCheckpoint('s1', uuid);
      registry.addCheckpoint('s2', 'x');
      expect(registry.getCheckpoints('s1')).toEqual(['b', 'c', 'd']);
      expect(registry.getCheckpoints('s2')).toEqual(['x']);
      registry.clearCheckpoints('s1');
      expect(registry.getCheckpoints('s1')).toEqual([]);
      expect(registry.getCheckpoints('s2')).toEqual(['x']);
    });

    it('keeps 100 per session by default, and a bounded number of sessions', () => {
      const registry = createCheckpointRegistry({ maxSessions: 2 });
      for (let index = 0; index < 150; index++) registry.addCheckpoint('s1', `u${index}`);
      expect(registry.getCheckpoints('s1')).toHaveLength(100);
      expect(registry.getCheckpoints('s1').at(0)).toBe('u50');
      for (const id of ['s2', 's1', 's3']) registry.addCheckpoint(id, 'u');
      expect(['s1', 's2', 's3'].map((id) => registry.getCheckpoints(id).length)).toEqual([100, 0, 1]);
    });

    it('shares nothing with another registry', () => {
      const [one, other] = [createCheckpointRegistry(), createCheckpointRegistry()];
      one.addCheckpoint('s', 'a');
      expect(other.getCheckpoints('s')).toEqual([]);
    });
  });

  describe('createTextTail', () => {
    it('keeps the end, starting at a whole character', () => {
      const tail = createTextTail(8);
      tail.push('0123456789');
      expect(tail.toString()).toBe('23456789');
      tail.push(Buffer.from('é🎉x'));
      expect(tail.toString()).toBe('9é🎉x');
      tail.push('yy');
      expect(tail.toString()).toBe('🎉xyy');
      tail.push('zz');
      expect(tail.toString()).toBe('xyyzz');
    });
  });
});

describe('partial texts', () => {
  it('emits each text once, in pieces or whole', () => {
    const texts = createPartialTexts();
    texts.start(null, 'm');
    expect(texts.takeWhole(null, 'm', 'before any piece')).toBe(false);
    for (const blockIndex of [0, 1, 2]) texts.append(null, 'm', { blockIndex, text: `text ${blockIndex}` });
    expect(texts.takeWhole(null, 'm', 'text 0')).toBe(true);
    expect(texts.append(null, 'm', { blockIndex: 0, text: 'late' })).toBe(false);
    // A piece of the next text was lost.
    expect(texts.takeWhole(null, 'm', 'whole text 1')).toBe(false);
    expect(texts.takeWhole(null, 'other', 'text 2')).toBe(false);
    expect(texts.takeWhole('sub-agent', 'm', 'text 2')).toBe(false);
    expect(texts.release()).toEqual([{ parentToolUseId: null, messageId: 'm', text: 'text 2' }]);
  });
});
