#include "sim/differential_table.hpp"

namespace quorumlock::sim::table {

std::vector<std::string_view> stories() {
  return {
      // What a leader announces.
      "$announce me 7 3 after 60000 => 0",
      "$yours ; $your_record ; $announce me 7 3 after 60000 => 0 ; $record => {you 6 9 before}",
      "$hash ; $announce me 7 3 after 60000 => 0",
      "$mine ; $announce me 7 3 after 60000 => 1 told ; $record => {me 7 3 after} ; "
      "PTTL quorumlock:leader:lock => 60000",
      "$mine ; $your_record ; $announce me 7 3 after 60000 => 1 told ; $record => {me 7 3 after}",
      "$mine ; $my_record ; $announce me 7 4 after 60000 => 1 told ; $record => {me 7 4 after}",
      "$mine ; $my_record ; $announce me 7 3 after 60000 => 1 ; $record => {me 7 3 before} ; "
      "PTTL quorumlock:leader:lock => 60000",
      "$mine ; $my_record ; $announce me 7 2 after 60000 => 1 ; $record => {me 7 3 before}",
      "$withdraw => 0",
      "$mine ; $your_record ; $withdraw => 0 ; $record => {you 6 9 before}",
      "$mine ; $my_record ; $withdraw => 1 told ; $record => {nil nil nil nil}",
      "$yours ; $my_record ; $withdraw => 1 told ; $record => {nil nil nil nil}",
      "$leader => {}",
      "$count ; $my_record ; $leader => {}",
      "$hash ; $leader => {}",
      "SET lock $labelled PX 60000 ; $count ; HSET quorumlock:leader:lock token $labelled fence 7 "
      "version 3 value before ; $leader => {$labelled 60000 3 7 before}",
      "SET lock $digits PX 60000 ; $count ; $your_record ; $leader => {$digits 60000 0 41 ''}",
      "SET lock $labelled PX 60000 ; $count ; $leader => {$labelled 60000 0 41 ''}",
      "SET lock $labelled PX 60000 ; $leader => {$labelled 60000 0 0 ''}",
      "SET lock $digits ; HSET quorumlock:leader:lock token $digits fence 7 version 3 value before "
      "; $leader => {$digits -1 3 7 before}",
      // Another program's value leads nobody, and so do readers.
      "$mine ; $count ; $my_record ; $leader => {}",
      "SET lock $digits-and-more PX 60000 ; $count ; $leader => {}",
      "SET lock quorumlock:readers PX 60000 ; $count ; $leader => {}",

      // What is known of one lock, and of a semaphore of the same name.
      "$inspect 1000 1024 => {now none '' -2 {} {} 0 {} {} ''}",
      "$mine ; $count ; $inspect 1000 1024 => {now string string 2 60000 {} {} 0 {} {} 41}",
      "$mine ; $inspect 1000 1024 => {now string string 2 60000 {} {} 0 {} {} ''}",
      "SET lock $long ; $inspect 1000 1024 => {now string string 2000 -1 {} {} 0 {} {} ''}",
      "$hash ; $inspect 1000 1024 => {now hash hash -1 {} {} 0 {} {} ''}",
      "SET lock quorumlock:readers PX 60000 ; ZADD quorumlock:readers:lock $far a $far b 1 dead ; "
      "$inspect 1000 1024 => {now readers '' 60000 {a 9000000000000 b 9000000000000} {} 0 {} {} "
      "''}",
      "SET lock quorumlock:readers ; ZADD quorumlock:readers:lock $far a $far b 1 dead ; "
      "$inspect 2 1024 => {now readers '' -1 {a 9000000000000} {} 0 {} {} ''}",
      "ZADD quorumlock:queue:lock 5 w1 4 r2 ; ZADD quorumlock:waiting:lock $far w1 $far r2 ; "
      "$inspect 1000 1024 => {now none '' -2 {} {r2 4 9000000000000 w1 5 9000000000000} 0 {} {} "
      "''}",
      "ZADD quorumlock:queue:lock 5 w1 6 w2 7 w3 ; ZADD quorumlock:waiting:lock 1 w1 $far w2 ; "
      "$inspect 1000 1024 => {now none '' -2 {} {w2 6 9000000000000} 0 {} {} ''}",
      "ZADD quorumlock:queue:lock 5 w1 6 w2 ; ZADD quorumlock:waiting:lock $far w1 $far w2 ; "
      "$inspect 1 1024 => {now none '' -2 {} {w1 5 9000000000000} 0 {} {} ''}",
      "$slots 3 ; $inspect 1000 3 => {now none '' -2 {} {} 3 {} {} ''}",
      "$slots 3 ; $permit_of:lock:1 a PX 60000 ; $permit_of:lock:3 b PX 60000 ; $inspect 1000 3 => "
      "{now none '' -2 {} {} 3 {1 string 1 60000 3 string 1 60000} {} ''}",
      "$slots 2 ; $permit_of:lock:2 a ; $inspect 1000 3 => {now none '' -2 {} {} 2 {2 string 1 -1} "
      "{} ''}",
      "$slots 2 ; $permit_of:lock:3 a ; $inspect 1000 3 => {now none '' -2 {} {} 2 {} {} ''}",
      "$slots 2 ; $permit_of:lock:1 a ; HSET quorumlock:permit:lock:2 field value ; "
      "$inspect 1000 3 => {now none '' -2 {} {} 2 {1 string 1 -1} {} ''}",
      "$slots 4 ; $permit_of:lock:1 a ; $inspect 1000 3 => {now none '' -2 {} {} 0 {} {} ''}",
      "$slots -3 ; $permit_of:lock:1 a ; $inspect 1000 3 => {now none '' -2 {} {} 0 {} {} ''}",
      "$slots three ; $permit_of:lock:1 a ; $inspect 1000 3 => {now none '' -2 {} {} 0 {} {} ''}",
      "HSET quorumlock:semaphore:lock a b ; $inspect 1000 3 => {now none '' -2 {} {} 0 {} {} ''}",
      "ZADD quorumlock:queue:quorumlock:semaphore:lock 5 w1 ; "
      "ZADD quorumlock:waiting:quorumlock:semaphore:lock $far w1 ; "
      "$inspect 1000 3 => {now none '' -2 {} {} 0 {} {w1 5 9000000000000} ''} ; "
      "$slots 1 ; $permit_of:lock:1 a ; $mine ; ZADD quorumlock:queue:lock 6 w2 ; "
      "ZADD quorumlock:waiting:lock $far w2 ; $inspect 1000 3 => "
      "{now string string 2 60000 {} {w2 6 9000000000000} 1 {1 string 1 -1} {w1 5 9000000000000} "
      "''}",

      // The locks of a node.
      "$list_locks => {0 now}",
      "SET lock $labelled ; $list_locks => {0 now {lock string -1 '' 0 {$labelled} 0 '' ''}}",
      "SET lock $labelled PX 60000 ; HSET quorumlock:leader:lock token $labelled value ten ; "
      "$list_locks => {0 now {lock string 60000 '' 0 {$labelled} 1 '' ten}}",
      "SET lock $labelled ; HSET quorumlock:leader:lock token $digits ; "
      "$list_locks => {0 now {lock string -1 '' 0 {$labelled} 0 '' ''}}",
      "SET lock $labelled ; SET quorumlock:leader:lock $labelled ; "
      "$list_locks => {0 now {lock string -1 '' 0 {$labelled} 0 '' ''}}",
      "SET lock $labelled ; CALL locks / 0 other* 100 '' => {0 now}",
      "SET cache $digits ; $list_locks => {0 now}",
      "$count ; $list_locks => {0 now}",
      "SET lock $digits ; $count ; $list_locks => {0 now {lock string -1 41 0 {$digits} 0 '' ''}}",
      "SET lock $digits ; ZADD quorumlock:queue:lock 5 w1 ; ZADD quorumlock:waiting:lock $far w1 ; "
      "$list_locks => {0 now {lock string -1 '' 1 {$digits} 0 w1 ''}}",
      "$count ; SET lock quorumlock:readers ; ZADD quorumlock:readers:lock $far a ; "
      "$list_locks => {0 now {lock readers -1 41 0 {a 9000000000000} 0 '' ''}}",
      "$count ; ZADD lock $far a ; $list_locks => {0 now}",
      "$count ; SET lock secret ; $list_locks => {0 now {lock string -1 41 0 {string 6} 0 '' ''}}",
      "$count ; $hash ; $list_locks => {0 now}",
      "$permit_of:lock:2 $labelled ; $list_locks => {0 now}",
      "$permit_of:lock:2 $labelled ; ZADD quorumlock:queue:quorumlock:semaphore:lock 5 w1 ; "
      "ZADD quorumlock:waiting:quorumlock:semaphore:lock $far w1 ; "
      "SET quorumlock:fence:quorumlock:semaphore:lock 41 ; "
      "CALL locks / 0 quorumlock:permit:*:* 100 quorumlock:semaphore: => "
      "{0 now {quorumlock:permit:lock:2 string -1 41 1 {$labelled} 0 w1 ''}}",

      // How far a name is done, for the holder at whose tokens counter and lock are.
      "$mine ; $done_by 41 '' 9000 me E 0 => {-1 0 now}",
      "SET $enrolment E ; $mine ; $done_by 41 '' 9000 me E 0 => {3 0 now} ; $count ; "
      "$done_by 41 '' 9000 me E 0 => {1 0 now} ; $done_by 41 0 9000 me E 0 => {1 1 now} ; "
      "$done_by 41 '' 9000 me E 0 => {1 1 now} ; $done_by 41 7 9000 me E 0 => {1 8 now} ; "
      "$done_by 41 6 90000 me E 0 => {1 8 now} ; "
      "GET quorumlock:once:lock => 7 ; PTTL quorumlock:once:lock => 90000 ; "
      "$done_by 41 '' 9000 me E 0 => {1 8 now} ; PTTL quorumlock:once:lock => 90000 ; "
      "$done_by 40 8 9000 me E 0 => {3 0 now} ; $done_by 42 8 9000 me E 0 => {3 0 now} ; "
      "$done_by 41 9007199254740991 9000 me E 0 => {1 9007199254740992 now} ; "
      "CALL periods quorumlock:once:lock x / => {9007199254740991 9000 nil -2}",
      "SET $enrolment E ; $count ; $done_by 41 8 9000 me E 0 => {3 0 now} ; $yours ; "
      "$done_by 41 8 9000 me E 0 => {3 0 now} ; DEL lock ; $hash ; "
      "$done_by 41 8 9000 me E 0 => {3 0 now} ; EXISTS quorumlock:once:lock => 0",
      "SET $enrolment E ; $mine ; $count ; SET quorumlock:once:lock 9007199254740992 ; "
      "$done_by 41 '' 9000 me E 0 => error ; SET quorumlock:once:lock 1.5 ; "
      "$done_by 41 3 9000 me E 0 => error ; GET quorumlock:once:lock => 1.5 ; "
      "DEL quorumlock:once:lock ; "
      "HSET quorumlock:once:lock a b ; $done_by 41 3 9000 me E 0 => error ; "
      "HGET quorumlock:once:lock a => b ; CALL periods quorumlock:once:lock / => {nil -1}",
      "SET quorumlock:once:lock 12345678901234567890 ; "
      "CALL periods quorumlock:once:lock / => {12345678901234567 -1}",

      // A reader's time that is too long is refused, and nothing is set.
      "SET $enrolment E ; $get a $ever 0 0 1 '' 1 600000 r 0 0 E 0 1000000 1000000 => error ; "
      "EXISTS x quorumlock:readers:x => 0",
      "SET $enrolment E ; $get_all a $ever 0 0 1 '' 1 600000 r 0 0 E 0 1000000 1000000 => error ; "
      "EXISTS x y => 0",

      // What another program has under a lock's name is held, by its kind and its length alone, and
      // stays as it is. What it has under a key of ours is an error that names the key.
      "SET $enrolment E ; ZADD x 5 a ; CALL acquire / 9000 $us 1 0 x me 0 E 0 9000 9000 => {now 0 "
      "0 -1 0 {zset}} ; $get me 9000 0 0 1 '' 1 600000 r 0 0 E 0 9000 9000 => {0 0 now -1 0 zset} "
      "; $drop me '' '' 0 0 => 0 ; ZRANGE x 0 -1 => {a}",
      "SET $enrolment E ; SET x $long ; CALL acquire / 9000 $us 1 0 x me 0 E 0 9000 9000 => {now 0 "
      "0 -1 0 {string 2000}} ; $get me 9000 0 0 1 $w.1 1 600000 w 0 0 E 0 9000 9000 => {0 0 now -1 "
      "1 string 2000} ; CALL queue x / 600000 $w.1 1 => {0 0 string 2000 -1 0}",
      "SET $enrolment E ; HSET quorumlock:queue:x a b ; $get me 9000 0 0 1 $w.1 1 600000 w 0 0 E 0 "
      "9000 9000 => error ; EXISTS x => 0 ; HSET quorumlock:queue:x a b => 0",
      "SET $enrolment E ; HSET quorumlock:fence:x a b ; CALL acquire / 9000 $us 1 0 x me 0 E 0 "
      "9000 9000 ; EXISTS x => 0 ; HGET quorumlock:fence:x a => b",

      // Nobody who reads has the token to delete the lock, and a reader's token extends nothing.
      "SET $enrolment E ; $get a 30000 0 0 1 '' 1 600000 r 0 0 E 0 9000 9000 => 1 ; GET x => "
      "quorumlock:readers ; $drop quorumlock:readers '' '' 0 0 => 0 ; CALL release / x "
      "quorumlock:readers => {0} ; $keep a 60000 0 0 t 0 0 $latest E 0 9000 9000 => 0 ; $keep "
      "quorumlock:readers 60000 0 0 t 0 0 $latest E 0 9000 9000 => 0 ; PTTL x => 30000 ; $drop a "
      "'' '' 0 30000 => 1 ; EXISTS x quorumlock:readers:x => 0 ; $keep a 60000 0 1 r 0 0 $latest E "
      "0 9000 9000 => 3",

      // Readers of an earlier time do not come back with new ones.
      "SET $enrolment E ; $get a 30000 0 0 1 '' 1 600000 r 0 0 E 0 9000 9000 => 1 ; DEL x ; $get b "
      "30000 0 0 1 '' 1 600000 r 0 0 E 0 9000 9000 => 1 ; ZRANGE quorumlock:readers:x 0 -1 => {b}",

      // Entries of the dead go, wherever they are in the line.
      "ZADD quorumlock:queue:x 1 $w.1 2 w2.2 3 w3.3 4 w4.4 ; $in_line $w.1 $far w3.3 ; "
      "ZADD quorumlock:waiting:x 5 w2.2 5 w4.4 ; CALL queue x / 600000 $w.1 1 ; "
      "ZRANGE quorumlock:queue:x 0 -1 => {$w.1 w3.3}",

      // The holder of the lock on the node raises the counter to a greater number. For any other
      // token the lock is gone, and the counter stays.
      "SET $enrolment E ; SET quorumlock:fence:x 5 ; SET x owner ; $raise other 7 E 0 1000000 "
      "1000000 => 3 ; GET quorumlock:fence:x => 5 ; $raise owner 7 E 0 1000000 1000000 => 1 ; "
      "$raise owner 7 E 0 1000000 1000000 => 0 ; GET quorumlock:fence:x => 7 ; DEL x ; $raise "
      "owner 9 E 0 1000000 1000000 => 3",

      // Two waiters of one process ask in one call. The second one's entry is spent: it had the
      // lock here, gave it up without informing this node, and goes on waiting.
      "ZADD quorumlock:queue:x 1 $r.2 ; $in_line $r.2 ; HSET quorumlock:granted:x $r.2 gone ; "
      "CALL queue x x / 600000 $r.3 2 $r.2 1 ; ZSCORE quorumlock:queue:x $r.2 => 1",
      "ZADD quorumlock:queue:x 1 $w.2 ; $in_line $w.2 ; HSET quorumlock:granted:x $w.2 gone ; "
      "CALL queue x x / 600000 $w.3 2 $w.2 1 ; ZSCORE quorumlock:queue:x $w.2 => 1",

      // The holder of several locks is the first that one client has, also behind one that is read.
      "SET $enrolment E ; SET x quorumlock:readers PX 9000 ; ZADD quorumlock:readers:x $far a ; "
      "SET y $digits PX 9000 ; $get_all me 9000 0 0 1 '' 1 600000 w 0 0 E 0 9000 9000 => {0 0 now "
      "9000 0 $digits}",

      // Readers of several locks yield to a writer that came after them. A lock that
      // was lost is set again. A writer becomes a reader.
      "SET $enrolment E ; $get_all a 30000 0 0 1 '' 1 600000 r 0 0 E 0 1000000 1000000 => 1 ; "
      "$get_all b 30000 0 0 1 $r.3 1 600000 r 0 0 E 0 1000000 1000000 => 1 ; $get_all c 30000 0 0 "
      "1 '' 1 600000 w 0 0 E 0 1000000 1000000 => 0 ; $raise_all b $latest E 0 1000000 1000000 => "
      "1 ; $raise_all a $latest E 0 1000000 1000000 => 0 ; $raise_all c 9000000000000001 E 0 "
      "1000000 1000000 => 3 ; $get_all c 30000 0 0 1 $w.4 2 600000 w 0 0 E 0 1000000 1000000 => 0 "
      "; $drop_all b '' $r.3 0 0 => 1 ; $drop_all b '' $r.3 0 0 => 0 ; $get_all d 30000 0 0 1 $r.5 "
      "3 600000 r 0 0 E 0 1000000 1000000 => 0 ; $get_all d 30000 0 0 1 '' 3 600000 r 0 0 E 0 "
      "1000000 1000000 => 0 ; $drop_all d $w.4 '' 0 0 => 0 told ; $get_all d 30000 0 0 1 $r.5 3 "
      "600000 r 0 0 E 0 1000000 1000000 => 1 ; ZREM quorumlock:readers:y d ; $keep_all d 20000 0 1 "
      "r 0 0 $latest E 0 1000000 1000000 => 2 ; $keep_all d 40000 0 1 r 0 0 $latest E 0 1000000 "
      "1000000 => 1 ; ZSCORE quorumlock:readers:x d => $ms+40000 ; ZSCORE quorumlock:readers:y d "
      "=> $ms+40000 ; $drop_all d $r.5 '' 0 0 => 1 ; $drop_all a $r.3 '' 0 0 => 1 ; $get_all e "
      "30000 0 0 1 '' 1 600000 w 0 0 E 0 1000000 1000000 => 1 ; PEXPIRE y 90000 ; $keep_all e "
      "50000 0 1 r 0 0 $latest E 0 1000000 1000000 => 1 ; $get_all f 30000 0 0 1 '' 1 600000 r 0 0 "
      "E 0 1000000 1000000 => 1 ; $drop_all e '' '' 0 0 => 1 ; DEL y ; ZADD y 1 f ; $keep_all f "
      "50000 0 1 r 0 0 $latest E 0 1000000 1000000 => 0 ; $get_all g 30000 0 0 1 '' 1 600000 r 0 0 "
      "E 0 1000000 1000000 => 0 ; DEL y ; HSET y field value ; $keep_all f 50000 0 1 r 0 0 $latest "
      "E 0 1000000 1000000 => 0 ; $get_all g 30000 0 0 1 '' 1 600000 r 0 0 E 0 1000000 1000000 => "
      "0 ; $drop_all f '' '' 0 0 => 0",
  };
}

}  // namespace quorumlock::sim::table
