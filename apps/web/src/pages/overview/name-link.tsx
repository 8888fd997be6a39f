import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toSubjectPath } from '../../format/dimensions.ts';
import { toNoName, toPlainName } from '../../format/plain-name.ts';

/** The dimensions that the overview divides cost by. */
export type SharedDimension = 'repository' | 'person' | 'model';

type Named = Readonly<{ [Key in SharedDimension]?: string | null | undefined }>;

export const readName = (row: Named, dimension: SharedDimension): string | null => row[dimension] ?? null;

/** The name, with a link to its page. */
export function NameLink({
  dimension,
  name,
  others,
  time,
}: {
  dimension: SharedDimension;
  name: string | null;
  /** The names beside it. */
  others: readonly (string | null)[];
  time: Record<string, string>;
}): ReactNode {
  if (name === null) return <span className="muted">{toNoName(dimension)}</span>;
  const plain = toPlainName(dimension, name, others);
  return (
    <Link to={toSubjectPath({ name: dimension })} search={{ ...time, [dimension]: name } as never} title={name}>
      {plain.includes('/') ? <bdi dir="ltr">{plain}</bdi> : plain}
    </Link>
  );
}
