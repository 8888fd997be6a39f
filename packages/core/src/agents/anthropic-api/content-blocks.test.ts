import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { nestedArrays, only } from '../../testing/transcript-lines.ts';
import { MAX_BLOCKS_PER_LINE, toContentBlocks } from './content-blocks.ts';

function read(content: JsonValue | undefined, maxInlineContentBytes = 1000) {
  const reports: string[] = [];
  const read = toContentBlocks(content, {
    maxInlineContentBytes,
    onNestingTooDeep: () => reports.push('nesting'),
    onIdentifierCut: () => reports.push('identifier'),
    onInvalidContent: () => reports.push('content'),
    onUnknownBlock: (type: string) => reports.push(`unknown ${type}`),
    onTooManyBlocks: (count) => reports.push(`${count} too many`),
  });
  const blocks = read.map(({ contentBytes: _bytes, writtenBytes: _written, source: _source, ...block }) => block);
  return { blocks, reports, sizes: read.map(({ contentBytes }) => contentBytes), read };
}

const readOne = (block: JsonValue, maxInlineContentBytes?: number) => only(read([block], maxInlineContentBytes).blocks);

const emptyBlock = {
  content_text: null,
  thinking_text: null,
  tool_name: null,
  tool_use_id: null,
  tool_input: null,
  tool_result_id: null,
  is_error: null,
  result_text: null,
  metadata: {},
};

const image = Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256));
const imageSource = { type: 'base64', media_type: 'image/png', data: image.toString('base64') };
const imageDescription = {
  media_type: 'image/png',
  byte_length: 300,
  sha256: createHash('sha256').update(image).digest('hex'),
};

describe('toContentBlocks', () => {
  it('makes one text block of a string, and none of nothing', () => {
    expect(read('hi').blocks).toEqual([{ ...emptyBlock, block_type: 'text', content_text: 'hi' }]);
    for (const content of [undefined, null, '', []]) expect(read(content)).toMatchObject({ blocks: [], reports: [] });
  });

  it('accepts strings in a list, and an object instead of a list, as blocks', () => {
    expect(read(['a', { type: 'text', text: 'b' }]).blocks.map((block) => block.content_text)).toEqual(['a', 'b']);
    expect(read({ type: 'text', text: 'b' }).blocks.map((block) => block.content_text)).toEqual(['b']);
  });

  it('reports what is not a block, and continues', () => {
    expect(read([1, null, [{ type: 'text' }], true, { type: 'text', text: 'b' }])).toMatchObject({
      blocks: [{ content_text: 'b' }],
      reports: ['content', 'content', 'content', 'content'],
    });
    for (const content of [5, true]) {
      expect(read(content)).toMatchObject({ blocks: [{ content_text: String(content) }], reports: [] });
    }
  });

  it('keeps an object without a type as an unknown block', () => {
    for (const type of [undefined, null, '', {}]) {
      const { blocks, reports } = read([{ ...(type === undefined ? {} : { type }), a: 1 }]);
      expect(only(blocks)).toMatchObject({ block_type: 'unknown', metadata: { content: { a: 1 } } });
      expect(reports).toEqual(['content']);
    }
  });

  it('bounds the number of blocks', () => {
    const { blocks, reports } = read(Array<JsonValue>(MAX_BLOCKS_PER_LINE + 3).fill('x'));
    expect(blocks).toHaveLength(MAX_BLOCKS_PER_LINE);
    expect(reports).toEqual(['3 too many']);
  });
});

describe('text and thinking', () => {
  it('go into their columns', () => {
    expect(readOne({ type: 'text', text: 'a' })).toEqual({ ...emptyBlock, block_type: 'text', content_text: 'a' });
    expect(readOne({ type: 'thinking', thinking: 'a' })).toEqual({
      ...emptyBlock,
      block_type: 'thinking',
      thinking_text: 'a',
    });
    expect(readOne({ type: 'thinking', thinking: '', signature: 'abc' })).toMatchObject({
      thinking_text: '',
      metadata: { signed: true },
    });
  });

  it('are empty where the text is of another type', () => {
    for (const text of [null, ['x'], { a: 1 }]) {
      expect(readOne({ type: 'text', text })).toMatchObject({ block_type: 'text', content_text: '' });
      expect(readOne({ type: 'thinking', thinking: text })).toMatchObject({ thinking_text: '' });
    }
  });
});

describe('tool_use', () => {
  it('has name, id and input', () => {
    expect(readOne({ type: 'tool_use', name: 'Bash', id: 't1', input: { command: 'ls' } })).toEqual({
      ...emptyBlock,
      block_type: 'tool_use',
      tool_name: 'Bash',
      tool_use_id: 't1',
      tool_input: { command: 'ls' },
    });
  });

  it('accepts any input', () => {
    for (const input of [5, false, 'text', [], {}]) {
      expect(readOne({ type: 'tool_use', input }).tool_input).toEqual(input);
    }
  });

  it('has an empty input, of no bytes, if it has none', () => {
    for (const block of [{ type: 'tool_use' }, { type: 'tool_use', input: null }]) {
      const { blocks, sizes } = read([block]);
      expect(only(blocks)).toEqual({ ...emptyBlock, block_type: 'tool_use', tool_input: {} });
      expect(sizes).toEqual([0]);
    }
  });

  it('cuts a long name and reports it', () => {
    const { blocks, reports } = read([{ type: 'tool_use', name: 'x'.repeat(600), id: 'y'.repeat(512) }]);
    expect(only(blocks).tool_name).toBe('x'.repeat(512));
    expect(reports).toEqual(['identifier']);
  });
});

describe('tool_result', () => {
  const result = (content: JsonValue, fields: JsonObject = {}) =>
    readOne({ type: 'tool_result', tool_use_id: 't1', content, ...fields });

  it('has the id of its tool use, is_error, and the text of a string or of text parts', () => {
    const expected = { ...emptyBlock, block_type: 'tool_result', tool_result_id: 't1', is_error: false };
    expect(result('ok')).toEqual({ ...expected, result_text: 'ok' });
    expect(result('no', { is_error: true })).toEqual({ ...expected, is_error: true, result_text: 'no' });
    expect(result([{ type: 'text', text: 'a' }, 'b', { type: 'text', text: 'c' }])).toEqual({
      ...expected,
      result_text: 'a\nb\nc',
    });
    for (const content of [null, []]) expect(result(content)).toEqual(expected);
    for (const is_error of [null, 'false', 0, 'perhaps']) expect(result('ok', { is_error }).is_error).toBe(false);
    expect(readOne({ type: 'tool_result' })).toEqual({ ...expected, tool_result_id: null });
  });

  it('keeps other parts beside the text, without their media', () => {
    const parts: JsonValue = [
      { type: 'text', text: 'a' },
      { type: 'image', source: imageSource },
      { type: 'tool_reference', tool_name: 'x' },
      { type: 'text', text: 5 },
      null,
    ];
    expect(result(parts)).toMatchObject({
      result_text: 'a',
      metadata: {
        other_parts: [
          { type: 'image', source: { type: 'base64', ...imageDescription } },
          { type: 'tool_reference', tool_name: 'x' },
          { type: 'text', text: 5 },
          null,
        ],
      },
    });
  });

  it('keeps content that is neither text nor a list', () => {
    expect(result({ a: 1 })).toMatchObject({ result_text: null, metadata: { content: { a: 1 } } });
    expect(result(false)).toMatchObject({ result_text: null, metadata: { content: false } });
  });

  it('has the length of its text only, because other parts are beside it', () => {
    const other = { type: 'x', y: 'b'.repeat(100) };
    const sizeOf = (content: JsonValue, limit?: number) => read([{ type: 'tool_result', content }], limit).sizes;
    expect(sizeOf([{ type: 'text', text: 'é'.repeat(5) }, other])).toEqual([10]);
    expect(sizeOf([other, 'a', { type: 'text', text: 'b' }, other])).toEqual([3]);
    expect(sizeOf([{ type: 'text', text: 'a'.repeat(50) }, other], 20)).toEqual([50]);
    expect(sizeOf([other])).toEqual([0]);
    expect(sizeOf({ a: 1 })).toEqual([7]);
  });

  it('has the length of the text if text and other parts are cut', () => {
    const parts: JsonValue = [
      { type: 'text', text: 'a'.repeat(50) },
      { type: 'x', y: 'b'.repeat(100) },
    ];
    const block = only(read([{ type: 'tool_result', content: parts }], 20).blocks);
    expect(block).toMatchObject({
      result_text: 'a'.repeat(20),
      metadata: { truncated: true, original_byte_length: 50 },
    });
    expect(Buffer.byteLength(String(block.metadata.other_parts))).toBe(20);
  });
});

describe('media', () => {
  const base64 = imageSource.data.slice(0, 40);

  it('are described by type, size and hash, never stored', () => {
    expect(readOne({ type: 'image', source: imageSource })).toEqual({
      ...emptyBlock,
      block_type: 'image',
      metadata: { type: 'base64', ...imageDescription },
    });
    expect(readOne({ type: 'document', title: 'T', context: 'C', source: imageSource }).metadata).toEqual({
      type: 'base64',
      ...imageDescription,
      title: 'T',
      context: 'C',
    });
  });

  it('stay out of rows at any depth', () => {
    const mcpImage = { type: 'image', data: imageSource.data, mimeType: 'image/png' };
    let deep: JsonValue = imageSource;
    for (let depth = 0; depth < 100; depth++) deep = [deep];
    const content: JsonValue = [
      { type: 'image', source: { media_type: 'image/png', data: imageSource.data } },
      mcpImage,
      { type: 'mcp_tool_result', tool_use_id: 't', content: [mcpImage] },
      { type: 'tool_result', tool_use_id: 't', content: [mcpImage, { type: 'image', source: imageSource }] },
      { type: 'tool_result', tool_use_id: 't', content: { image: imageSource } },
      { type: 'future_block', deep },
      { type: 'document', source: { type: 'content', content: [{ type: 'image', source: imageSource }] } },
    ];
    const { blocks } = read(content, 100_000);
    expect(blocks).toHaveLength(7);
    for (const block of blocks) {
      expect(JSON.stringify(block)).not.toContain(base64);
      expect(JSON.stringify(block)).toContain(imageDescription.sha256);
    }
  });

  it('stay out of rows even if they are nested too deep to be found', () => {
    let deep: JsonValue = imageSource;
    for (let depth = 0; depth < MAX_STORED_JSON_DEPTH + 10; depth++) deep = [deep];
    const { blocks, reports } = read([{ type: 'redacted_thinking', deep }], 100_000);
    expect(only(blocks).metadata).toEqual({ content: null, truncated: true });
    expect(reports).toEqual(['nesting']);
  });

  it('keep the other fields of their source', () => {
    expect(readOne({ type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }).metadata).toEqual({
      type: 'url',
      url: 'https://example.org/a.png',
    });
    expect(readOne({ type: 'image', source: { type: 'file', file_id: 'f' } }).metadata).toEqual({
      type: 'file',
      file_id: 'f',
    });
    expect(readOne({ type: 'image', source: 'x', alt: 'y' }).metadata).toEqual({ content: { source: 'x', alt: 'y' } });
    expect(readOne({ type: 'image' }).metadata).toEqual({ content: {} });
  });

  it('have a long description cut like any JSON', () => {
    const block = readOne({ type: 'image', title: 'T', source: { type: 'url', url: 'x'.repeat(200) } }, 50);
    expect(block.metadata).toEqual({
      source: `{"type":"url","url":"${'x'.repeat(29)}`,
      title: 'T',
      truncated: true,
      original_byte_length: 223,
    });
  });

  it('show the text of a text document', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'words' };
    expect(readOne({ type: 'document', source })).toEqual({
      ...emptyBlock,
      block_type: 'document',
      content_text: 'words',
      metadata: { media_type: 'text/plain' },
    });
    expect(readOne({ type: 'web_fetch_tool_result', content: { source } }).metadata).toEqual({
      content: { content: { source } },
    });
  });

  it('set no prototype', () => {
    const source = JSON.parse('{"type":"base64","data":"AAAA","__proto__":{"truncated":true}}') as JsonObject;
    const { metadata } = readOne({ type: 'image', source });
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
    expect(metadata.truncated).toBeUndefined();
  });
});

describe('every other block', () => {
  it.each([
    'redacted_thinking',
    'server_tool_use',
    'web_search_tool_result',
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'mcp_tool_use',
    'mcp_tool_result',
    'container_upload',
    'compaction',
    'fallback',
    'tool_reference',
    'never_seen_before',
    '__proto__',
    'constructor',
  ])('stays under its own name: %s', (type) => {
    const rest: JsonObject = {
      id: 's1',
      name: 'web_search',
      tool_use_id: 's2',
      is_error: true,
      data: 'opaque',
      n: [1],
    };
    expect(readOne({ type, ...rest })).toEqual({
      ...emptyBlock,
      block_type: type,
      tool_name: 'web_search',
      tool_use_id: 's1',
      tool_result_id: 's2',
      is_error: true,
      metadata: { content: rest },
    });
  });
});

describe('the inline limit', () => {
  const long = 'é'.repeat(20);

  it('cuts every kind of text between characters, and marks the block', () => {
    const cut = { metadata: { truncated: true, original_byte_length: 40 } };
    expect(readOne(long, 11)).toMatchObject({ content_text: 'é'.repeat(5), ...cut });
    expect(readOne({ type: 'thinking', thinking: long }, 11)).toMatchObject({ thinking_text: 'é'.repeat(5), ...cut });
    expect(readOne({ type: 'tool_result', content: long }, 11)).toMatchObject({ result_text: 'é'.repeat(5), ...cut });
    expect(readOne({ type: 'tool_use', input: long }, 11)).toMatchObject({ tool_input: 'é'.repeat(5), ...cut });
    expect(
      readOne({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: long } }, 11),
    ).toMatchObject({ content_text: 'é'.repeat(5), ...cut });
  });

  it('leaves a text that just fits unmarked', () => {
    expect(readOne(long, 40)).toMatchObject({ content_text: long, metadata: {} });
    expect(readOne({ type: 'tool_use', input: { a: long } }, 48)).toMatchObject({
      tool_input: { a: long },
      metadata: {},
    });
  });

  it('measures tool input and unknown content by their JSON', () => {
    expect(readOne({ type: 'tool_use', input: { a: long } }, 47)).toMatchObject({
      tool_input: `{"a":"${'é'.repeat(20)}"`,
      metadata: { truncated: true, original_byte_length: 48 },
    });
    expect(readOne({ type: 'new', a: long }, 8).metadata).toEqual({
      content: '{"a":"é',
      truncated: true,
      original_byte_length: 48,
    });
  });

  it('stores no tool input that is nested too deep', () => {
    for (const depth of [MAX_STORED_JSON_DEPTH + 1, 100_000]) {
      const { blocks, reports } = read([{ type: 'tool_use', input: JSON.parse(nestedArrays(depth)) as JsonValue }]);
      expect(only(blocks)).toMatchObject({ tool_input: null, metadata: { truncated: true } });
      expect(reports).toEqual(['nesting']);
    }
  });
});
