#ifndef SHORTLIST_C_OBJECTS_H_
#define SHORTLIST_C_OBJECTS_H_

#include "c/handles.h"
#include "c/shortlist.h"
#include "vocab/active_vocab.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

using VocabHandles = Handles<shortlist_vocab, DynamicVocabularyManager>;
using SnapshotHandles = Handles<shortlist_snapshot, const ActiveVocab>;

VocabHandles& Vocabs();
SnapshotHandles& Snapshots();

}  // namespace shortlist

#endif  // SHORTLIST_C_OBJECTS_H_
