import { expect, it } from 'vitest';
import { countChangedLines, toEdits, toPatchEdits, toPatchedFiles } from './edits.ts';

it('finds edits in the inputs of several agents', () => {
  expect(toEdits({ file_path: '/a', old_string: 'x', new_string: 'y' })).toEqual([{ before: 'x', after: 'y' }]);
  expect(toEdits({ filePath: '/a', oldString: 'x', newString: '' })).toEqual([{ before: 'x', after: '' }]);
  expect(toEdits({ file_path: '/a', content: 'whole' })).toEqual([{ before: '', after: 'whole', isWholeFile: true }]);
  expect(
    toEdits({
      edits: [
        { old_string: '1', new_string: '2' },
        { old_string: '3', new_string: '4' },
      ],
    }),
  ).toHaveLength(2);
  // The file may contain the text any number of times.
  expect(toEdits({ file_path: '/a', old_string: 'x', new_string: 'y', replace_all: true })).toHaveLength(1);
  expect(toEdits({ command: 'ls' })).toEqual([]);
  expect(toEdits('cut')).toEqual([]);
});

const PATCH = `*** Begin Patch
*** Update File: src/a.ts
@@ function a() {
 one
-two
+2
+3
@@
-old
*** Add File: src/b.ts
+new

*** Delete File: src/c.ts
*** Update File: src/d.ts
*** Move to: src/e.ts
@@
+++ is what this line begins with
*** End Patch
`;

it('reads the hunks of a patch, each with its file', () => {
  const edits = [
    { path: 'src/a.ts', before: 'one\ntwo\n', after: 'one\n2\n3\n' },
    { path: 'src/a.ts', before: 'old\n', after: '' },
    { path: 'src/b.ts', before: '\n', after: 'new\n\n' },
    { path: 'src/d.ts', before: '', after: '++ is what this line begins with\n' },
  ];
  expect(toPatchEdits(PATCH)).toEqual(edits);
  expect(toPatchEdits({ input: PATCH.replaceAll('\n', '\r\n') })).toEqual(edits);
  expect(toPatchEdits({ patchText: PATCH })).toEqual(edits);
  expect(toPatchEdits('+ no patch')).toEqual([]);
  expect(toPatchEdits({ content: 1 })).toEqual([]);
});

it('reads a patch that is a shell command on its own, and none within a longer command', () => {
  const shell = `apply_patch <<'PATCH'\n${PATCH}PATCH\n`;
  expect(toPatchEdits({ command: ['bash', '-lc', shell] })).toEqual(toPatchEdits(PATCH));
  expect(toPatchEdits({ command: shell })).toEqual(toPatchEdits(PATCH));
  expect(toPatchEdits({ command: `ls; ${shell}` })).toEqual([]);
  expect(toPatchEdits({ command: `${shell}ls` })).toEqual([]);
});

it('says which files a patch adds, deletes and moves', () => {
  expect(toPatchedFiles(PATCH).map(({ hunks, ...file }) => ({ ...file, hunks: hunks.length }))).toEqual([
    { path: 'src/a.ts', change: 'update', hunks: 2 },
    { path: 'src/b.ts', change: 'add', hunks: 1 },
    { path: 'src/c.ts', change: 'delete', hunks: 0 },
    { path: 'src/d.ts', change: 'update', movedTo: 'src/e.ts', hunks: 1 },
  ]);
});

it.each([
  ['', '', 0, 0],
  ['', 'a\nb\n', 2, 0],
  ['a', '', 0, 1],
  ['a\nb\nc', 'a\nB\nc\nd', 2, 1],
  ['same\nsame\n', 'same', 0, 1],
  ['a\nb', 'b\na', 0, 0],
  ['a\r\nb', 'a\nb\n', 0, 0],
  ['\n', '', 0, 1],
])('counts the lines that change from %j to %j', (before, after, added, removed) => {
  expect(countChangedLines({ before, after })).toEqual({ added, removed });
});
