import { lazy, type ReactNode, Suspense } from 'react';
import { Loading } from '../ui/states.tsx';
import type { LinePlace } from './raw-line.ts';

const RawLineImage = lazy(async () => ({ default: (await import('./raw-line-image.tsx')).RawLineImage }));

/** An image in a transcript, read from its raw line on request. */
export const TranscriptImage = ({
  place,
  index,
  isWanted,
}: {
  place: LinePlace;
  index: number;
  isWanted: boolean;
}): ReactNode =>
  isWanted && (
    <Suspense fallback={<Loading />}>
      <RawLineImage place={place} index={index} />
    </Suspense>
  );
