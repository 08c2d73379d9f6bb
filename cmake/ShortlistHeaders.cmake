# Run by `cmake --install`. Copies SHORTLIST_HEADERS, paths below SHORTLIST_SOURCE, to SHORTLIST_PUBLIC, and writes
# "shortlist/" before each of our own headers that they include: installed, they all stand below include/shortlist, so
# that a project may have a base/ids.h of its own.
file(REMOVE_RECURSE ${SHORTLIST_PUBLIC})
foreach(header ${SHORTLIST_HEADERS})
  file(READ ${SHORTLIST_SOURCE}/${header} text)
  foreach(included ${SHORTLIST_HEADERS})
    string(REPLACE "#include \"${included}\"" "#include \"shortlist/${included}\"" text "${text}")
  endforeach()
  file(WRITE ${SHORTLIST_PUBLIC}/${header} "${text}")
endforeach()
