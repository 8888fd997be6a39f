import { listLocal } from './list-local.ts';
import { listS3 } from './list-s3.ts';
import type { ListContext, ListedItem } from './stored-object.ts';

/** All that lies at or below the given paths, in their order, without opening any of it. */
export async function* listObjects(paths: readonly string[], context: ListContext): AsyncGenerator<ListedItem> {
  for (const path of paths) {
    context.signal.throwIfAborted();
    yield* /^s3:\/\//i.test(path) ? listS3(path, context) : listLocal(path, context);
  }
}
