const TEST_CALL = /(?<![\w.])(?:it|test)(?=[.(])/g;
/** With the types of its cases, as in `.each<[string, number]>`. */
const MODIFIER = /\.(\w+)(?:<[\s\S]*?>(?=\())?/y;
const LITERAL = /(['"`])((?:\\.|(?!\1)[^\\])*)\1/y;
const COMMENT = /\/\/.*|\/\*[\s\S]*?\*\//y;
const REGULAR_EXPRESSION = /\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+\//y;
const SPACE = /\s*/y;

function matchAt(pattern: RegExp, source: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(source);
}

/**
 * The end of the arguments that begin with the bracket at `index`; their texts, comments and patterns may hold
 * brackets.
 */
function skipArguments(source: string, index: number): number {
  let depth = 0;
  for (let position = index; position < source.length; ) {
    const character = source[position] ?? '';
    const isPattern =
      character === '/' && /[(,=:[!&|?{};>]\s*$/.test(source.slice(Math.max(0, position - 80), position));
    const skipped =
      matchAt(COMMENT, source, position) ??
      matchAt(LITERAL, source, position) ??
      (isPattern ? matchAt(REGULAR_EXPRESSION, source, position) : null);
    if (skipped !== null) {
      position += skipped[0].length;
      continue;
    }
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    position += 1;
    if (depth === 0) return position;
  }
  return source.length;
}

/** The names of a file's tests as its source has them: `it('name'`, `it.each(…)('name with %s'`. Skipped ones are none. */
export function listTestNames(source: string): Set<string> {
  const names = new Set<string>();
  for (const call of source.matchAll(TEST_CALL)) {
    let position = call.index + call[0].length;
    for (;;) {
      const modifier = matchAt(MODIFIER, source, position);
      if (modifier !== null) {
        if (modifier[1] === 'skip' || modifier[1] === 'todo') break;
        position += modifier[0].length;
      } else if (source[position] === '(') {
        const first = position + 1 + (matchAt(SPACE, source, position + 1)?.[0].length ?? 0);
        const name = matchAt(LITERAL, source, first);
        const isName = name !== null && /^\s*,/.test(source.slice(first + name[0].length));
        if (isName) names.add((name[2] ?? '').replaceAll(/\\(.)/g, '$1'));
        if (isName) break;
        position = skipArguments(source, position);
      } else break;
    }
  }
  return names;
}
