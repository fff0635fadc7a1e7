/* The files of homes by name: directories of this user, files in them, locks. See home.h. */
#ifndef OAP_HOME_FILES_H
#define OAP_HOME_FILES_H

#include "oap_pool.h"

#include <sys/stat.h>

enum { OAP_HOME_NAME = 33 }; /* 32 digits */

/* The directories of a user, one in each path. */
typedef struct oap_directories {
  int fd[OAP_MAX_PATHS];
  uint32_t count;
} oap_directories;

/* Opens them, and makes those that are missing if it is to. 0 or -errno; EPERM: one is not this
 * user's alone; ENOENT: one is missing. */
int oap_directories_open(const oap_options *options, bool make, oap_directories *all);
void oap_directories_close(const oap_directories *all);

/* Opens a file with that ending, or with O_CREAT | O_EXCL makes it; or -errno: it is not there, or
 * not this user's alone. */
int oap_home_file(int directory, const char *name, const char *ending, int flags);

/* Takes the lock that says that somebody has the home. 0 or -errno. */
int oap_home_lock(int meta);

/* Takes the lock of one who lets others share the home, or makes it that of one who does not. 0 or
 * -errno. */
int oap_home_share(int meta);

/* Takes the lock by which a member of a shared home says that it is there. False: it is taken. */
bool oap_home_lock_member(int meta, uint32_t member);
void oap_home_unlock_member(int meta, uint32_t member);

/* Whether a file still has a name. */
bool oap_home_has_name(int meta);

/* Lets go of all locks, and closes. Closing would not do: a child process that is about to start a
 * program may have the file, too. */
void oap_home_unlock(int meta);

/* Whether somebody has the home. */
bool oap_home_is_in_use(int meta);

/* Takes the lock of a home that is still there; false: somebody else has it, or has removed it. */
bool oap_home_take(int meta);

/* Removes all files of a home. */
void oap_home_remove(const oap_directories *all, const char *name);

/* Writes down in a .meta file in which paths the home has files: from so many bytes on, at most so
 * many. Where they are too long, they are left out. 0 or -errno. */
int oap_home_note_paths(int meta, const oap_options *options, uint64_t at, uint64_t most);

/* Removes the files of a home in the paths that its .meta file names, and makes no directory. */
void oap_home_remove_noted(int meta, const char *name, uint64_t at, uint64_t most);

/* Whether nobody has used a home for so long. */
bool oap_home_is_expired(int meta, uint32_t keep_seconds);

/* The name of a home, if a file's name is that of its .meta file. */
bool oap_home_is_meta(const char *file, char name[OAP_HOME_NAME]);

/* A name that no home has. 0 or -errno. */
int oap_home_name(char name[OAP_HOME_NAME]);

#endif
