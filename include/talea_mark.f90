! Phases of a Fortran program; include/talea_mark.h says what they are. Compile this file with the program. The library is not needed to build
! or to run: it is looked for at the first marker (LD_PRELOAD=libtalea_mark.so, or linked with -ltalea_mark).
!
!   use talea_mark
!   type(talea_phase), save, target :: solve = talea_phase("solve")
!   call talea_begin(solve)
!   ...
!   call talea_end(solve)
!
! The variable must have `save` and `target`: the library keeps its address. A begin and its end of the same variable belong together. Where a
! call is too much for a marker that is off, ask first: if (solve%on >= 0) call talea_begin(solve).
module talea_mark
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: talea_phase, talea_begin, talea_end

  ! struct talea_mark_site
  type, bind(c) :: site_type
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: file = c_null_ptr
    type(c_ptr) :: flag = c_null_ptr
    type(c_ptr) :: marker = c_null_ptr
    integer(c_int) :: line = 0
    integer(c_signed_char) :: kind = 0
    integer(c_signed_char) :: version = 1
    integer(c_short) :: reserved = 0
  end type

  ! Flags below 0 are off, 0 not yet used, above 0 on.
  type :: talea_phase
    character(len=63) :: name
    integer(c_signed_char) :: on = 0
    integer(c_signed_char) :: ends = 0
    character(len=64, kind=c_char) :: text = ""
    type(site_type) :: begins_at
    type(site_type) :: ends_at
  end type

  abstract interface
    function register_function(site) bind(c) result(flag)
      import :: c_ptr, c_signed_char
      type(c_ptr), value :: site
      integer(c_signed_char) :: flag
    end function
    function enter_function(site) bind(c) result(entered)
      import :: c_ptr, c_int
      type(c_ptr), value :: site
      integer(c_int) :: entered
    end function
    subroutine leave_function(site) bind(c)
      import :: c_ptr
      type(c_ptr), value :: site
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  procedure(enter_function), pointer, save :: enter => null()
  procedure(leave_function), pointer, save :: leave => null()

contains

  subroutine talea_begin(phase)
    type(talea_phase), target, intent(inout) :: phase
    integer(c_int) :: entered
    if (phase%on < 0) return
    if (phase%on == 0) phase%on = first(phase, phase%begins_at, c_loc(phase%on), 0_c_signed_char)
    if (phase%on > 0) entered = enter(c_loc(phase%begins_at))
  end subroutine

  subroutine talea_end(phase)
    type(talea_phase), target, intent(inout) :: phase
    if (phase%ends < 0) return
    if (phase%ends == 0) phase%ends = first(phase, phase%ends_at, c_loc(phase%ends), 1_c_signed_char)
    if (phase%ends > 0) call leave(c_loc(phase%ends_at))
  end subroutine

  ! Registers one side of a phase where the library is there.
  function first(phase, site, flag, kind) result(on)
    type(talea_phase), target, intent(inout) :: phase
    type(site_type), target, intent(inout) :: site
    type(c_ptr), intent(in) :: flag
    integer(c_signed_char), intent(in) :: kind
    integer(c_signed_char) :: on
    procedure(register_function), pointer :: register
    type(c_funptr) :: address

    on = -1
    ! The null handle is RTLD_DEFAULT: everything that is loaded.
    address = dlsym(c_null_ptr, "talea_mark_register" // c_null_char)
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, register)
    if (.not. associated(enter)) then
      address = dlsym(c_null_ptr, "talea_mark_leave" // c_null_char)
      call c_f_procpointer(address, leave)
      address = dlsym(c_null_ptr, "talea_mark_enter" // c_null_char)
      call c_f_procpointer(address, enter)
    end if
    phase%text = trim(phase%name) // c_null_char
    site%name = c_loc(phase%text)
    site%flag = flag
    site%kind = kind
    on = register(c_loc(site))
  end function
end module
