/** Index for inserting further options, at the end, but before a `--`. */
export function toOptionsEnd(args: readonly string[]): number {
  const separator = args.indexOf('--');
  return separator === -1 ? args.length : separator;
}
